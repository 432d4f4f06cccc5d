"""The service: a folder of studies over HTTP, with the methods of the library, and the page."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import Future
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from zonal import __version__
from zonal._types import Json
from zonal.errors import ZonalError
from zonal.study.signatures import start_key
from zonal.study.study import Study
from zonal.study.summary import Answer
from zonal.web import handlers, http_messages, page_data, routes
from zonal.web.handlers import dumped, given, new_study
from zonal.web.http_messages import as_bytes, as_json, body, number_of, query, tagged
from zonal.web.overview import Stamp, stamp_of
from zonal.web.routes import EVERY, STUDIES, STUDY, Unknown
from zonal.web.security import COOKIE, SecurityMiddleware, cookie_of, problem, same
from zonal.web.study_folder import Folder, OpenStudy

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]

PAUSE = 0.2  # seconds between two checks of a file
LONGEST_WAIT = 0.5  # seconds that a page waits for a posterior before it gets an answer without one
MANY_EVENTS = 1000  # with more, opening a study takes longer than that
SURELY = 5  # checks after which a file is read even if it seems unchanged
BEAT, ALIVE = 75, ": still here\n\n"  # checks between two keep-alive messages of a stream
MAX_STREAMS = 100
MAX_MOVED = 1000  # requests that are remembered while the service runs
READS = ("predict", "probability")  # operations that are posted, and change nothing
PAGES = resources.files("zonal.web") / "page"
HTML = "text/html; charset=utf-8"
ATTACHED = (".db", ".html", ".fits", ".nc")  # answers that a browser stores under the study's name


class Service:
    """The service of a folder of studies; `token` and `hosts` as for `SecurityMiddleware`."""

    def __init__(self, folder: Path, token: str = "", hosts: Iterable[str] = ()) -> None:
        self.folder = Folder(folder)
        self._token = token
        self._streams = 0
        self._moved: dict[str, str] = {}  # requests that archived or restored a study: key and path
        endpoints = {
            ("GET", STUDIES): self._studies,
            ("POST", STUDIES): self._new,
            ("GET", "/api/v1/events"): self._watch,
            ("GET", "/api/v1/openapi.json"): _always(
                dumped(routes.openapi_description(__version__)), "application/json"
            ),
            ("GET", STUDY): self._head,
            ("GET", "/api/v1/archive"): self._archived,
            ("POST", f"{STUDY}/archive"): self._moving(self.folder.archive),
            ("POST", "/api/v1/archive/{name}/restore"): self._moving(self.folder.restore),
            ("GET", f"{STUDY}/events"): self._events,
        }
        listed = [Route(path, answer, methods=[method]) for (method, path), answer in endpoints.items()]
        listed += [
            Route(STUDY + route.path, self._endpoint(route), methods=[route.method]) for route in routes.ROUTES
        ]
        pages = [
            Route("/", _page("index.html", bool(token))),
            Route("/studies/{name}", _page("study.html", bool(token))),
            Route("/compare/{name}/{other}", _page("compare.html", bool(token))),
            Route("/login", self._sign_in),
            Route("/problems/{kind}", _problem_page),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Mount("/static", StaticFiles(directory=str(PAGES / "static"))),
        ]
        answers: dict[int | type[Exception], ErrorHandler] = {
            ZonalError: http_messages.refused,
            OSError: http_messages.unreadable,
            HTTPException: http_messages.unfit,
            ClientDisconnect: http_messages.gone,
            Exception: http_messages.broken,
        }
        app = Starlette(routes=[*listed, *pages], exception_handlers=answers, lifespan=self._life)
        self.app = SecurityMiddleware(
            GZipMiddleware(app, minimum_size=1000, compresslevel=5), token=token, hosts=hosts
        )

    @contextlib.asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.folder.end()

    async def _sign_in(self, request: Request) -> Response:
        """Return the form for the token, or, to whoever has signed in, the page that they came for."""
        target = request.query_params.get("next", "/")
        if self._token and same(request.cookies.get(COOKIE, ""), cookie_of(self._token)):
            is_path = re.match(r"/(?![/\\])", target)
            return Response(status_code=303, headers={"location": quote(target, safe="/%") if is_path else "/"})
        return await _page("login.html")(request)

    async def _login(self, request: Request) -> Response:
        fields = given(await body(request), {"token": routes.TEXT}, ("token",))
        if not self._token or not same(fields["token"], self._token):
            await asyncio.sleep(0.5)
            return problem(401, "No token", "this is not the token that `zonal serve` printed.", field="token")
        answer = Response(status_code=204)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, cookie_of(self._token), httponly=True, samesite="lax", secure=secure)
        return answer

    async def _logout(self, request: Request) -> Response:
        """Have the browser forget what it was given for the token."""
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=request.url.scheme == "https")
        return answer

    def _entry(self, request: Request) -> OpenStudy:
        return self.folder.entry(request.path_params["name"])

    async def _in_study(
        self,
        run: Callable[[Callable[[Study], T]], Future[T]],
        handler: Callable[[Study], T],
        wait: float | None = None,
    ) -> T:
        """Have a function run in a thread of a study; TimeoutError if it takes too long, though it continues."""
        future = asyncio.wrap_future(run(handler))
        try:
            return await asyncio.wait_for(asyncio.shield(future), wait)
        except TimeoutError:
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def _endpoint(self, route: routes.Route) -> Handler:
        """Return the handler of one operation on a study."""
        handler = handlers.HANDLERS.get(route.path, partial(handlers.call_study, route))
        of_overview = handlers.OVERVIEW_HANDLERS.get(route.path)

        async def answer(request: Request) -> Response:
            entry = await run_in_threadpool(self._entry, request)
            sent = await body(request) if route.method == "POST" else query(request, route.fields)
            fields = given(sent, route.fields, route.required)
            if "trial" in request.path_params:
                fields["trial"] = number_of(request.path_params["trial"])
            if route.method == "POST":
                if route.fields.get("by") is routes.BY["by"] and not fields.get("by"):
                    fields["by"] = request.client.host if request.client else "somebody"
                if "key" in route.fields and not fields.get("key"):
                    fields["key"] = _key_of(request)
                run = entry.read if route.operation in READS else entry.submit
                return as_json(await self._in_study(run, lambda study: dumped(handler(study, **fields))))
            if of_overview is not None:
                overview = await run_in_threadpool(entry.overview)
                content = await run_in_threadpool(lambda: as_bytes(of_overview(overview, **fields)))
                digest = overview.journal.digest(overview.event)
            else:
                what = route.path, tuple(sorted((name, str(value)) for name, value in fields.items()))
                digest, content = await self._in_study(
                    entry.read,
                    lambda study: entry.answer(study, what, lambda now: as_bytes(handler(now, **fields))),
                )
            response = tagged(request, content, digest, route.kind)
            if route.path.endswith(ATTACHED):
                name = quote(entry.name + Path(route.path).suffix)
                response.headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
            return response

        return answer

    async def _studies(self, request: Request) -> Response:
        """List all studies: from their journals alone, with the answers of those that are open."""

        async def overview_of(name: str) -> dict[str, Answer]:
            try:
                entry = self.folder.entry(name)
                overview = await asyncio.wait_for(run_in_threadpool(entry.overview), LONGEST_WAIT)
                line = overview.line(name)
            except TimeoutError:
                return {"name": name, "state": "opening"}
            except Unknown:  # deleted meanwhile
                return {}
            except Exception as error:  # an error in one file must not hide the others
                unread = f"it cannot be read ({type(error).__name__})."
                why = str(error) if isinstance(error, ZonalError) else unread
                return {"name": name, "state": "bad", "error": why}
            kept = entry.kept.get("answer")
            answer = kept[1] if kept is not None and kept[0] == overview.journal.digest(overview.event) else {}
            best = next(iter(answer.get("best", [])), None) or overview.best()
            return {**line, "best": best, "stands_out": answer.get("stands_out")}

        names = await run_in_threadpool(self.folder.names)
        studies = list(filter(None, await asyncio.gather(*map(overview_of, names))))
        return as_json(dumped({"folder": self.folder.path.name, "studies": studies}))

    async def _new(self, request: Request) -> Response:
        fields = given(await body(request), NEW.fields, NEW.required)
        key = fields.get("key") or _key_of(request)

        def begun_before() -> bool:
            """Whether this very request began the study already."""
            with contextlib.suppress(ZonalError):  # there is none of this name
                path = self.folder.entry(fields["name"]).path
                return bool(key) and start_key(Study.open(path)) == key
            return False

        exist_ok = fields.get("exist_ok", False) or await run_in_threadpool(begun_before)
        path = self.folder.new(fields["name"], exist_ok)

        def make() -> dict[str, Json]:
            arguments = new_study(fields["recipe"], fields.get("table"))
            study = Study.create(path, **arguments, exist_ok=exist_ok, by=fields.get("by"), key=key)
            return {
                "name": fields["name"],
                "address": f"/studies/{quote(fields['name'])}",
                **handlers.budget_fields(study),
            }

        status = 200 if path.exists() else 201
        answer = as_json(dumped(await run_in_threadpool(make)), status)
        answer.headers["location"] = f"{STUDIES}/{quote(fields['name'])}"
        return answer

    async def _archived(self, request: Request) -> Response:
        return as_json(dumped({"studies": await run_in_threadpool(self.folder.archived)}))

    def _moving(self, move: Callable[[str], None]) -> Handler:
        """Return the handler that puts a study aside, or brings it back."""

        async def answer(request: Request) -> Response:
            fields = given(await body(request), routes.KEY, ())
            name, key = request.path_params["name"], fields.get("key") or _key_of(request)
            if not key or self._moved.get(key) != request.url.path:  # a file moves once, also without a key
                await run_in_threadpool(move, name)
                self._moved = dict([*self._moved.items()][-MAX_MOVED:]) | ({key: request.url.path} if key else {})
            return as_json(dumped({"name": name}))

        return answer

    async def _head(self, request: Request) -> Response:
        """Return the main facts of a study, and the answer if the posterior is available soon."""
        entry = await run_in_threadpool(self._entry, request)
        overview = await run_in_threadpool(entry.overview)
        head = await run_in_threadpool(overview.head, entry.name)
        wait = LONGEST_WAIT if entry.shown is not None or overview.event < MANY_EVENTS else 0.01
        try:
            _, answer = await self._in_study(
                entry.read, lambda study: entry.answer(study, "answer", page_data.answer), wait
            )
        except TimeoutError:
            kept = entry.kept.get("answer")
            answer = {"best": [], **(kept[1] if kept else {}), "busy": True}
            head["state"] = "opening" if entry.shown is None else head["state"]
        return as_json(dumped({**head, **answer}))

    async def _events(self, request: Request) -> Response:
        """Stream a study's events after a number, as they are written by any process."""
        fields = given(query(request, routes.AFTER), routes.AFTER, ())
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 16 else fields.get("after", -1)
        entry = await run_in_threadpool(self._entry, request)
        await run_in_threadpool(entry.overview)  # raises now
        next_event, seen = after + 1, None

        async def news(check: int) -> list[str]:
            nonlocal next_event, seen
            stamp, surely = stamp_of(entry.path), check % SURELY == 0
            if stamp == seen and not surely:
                return []
            seen, overview = stamp, await run_in_threadpool(entry.overview, surely)
            fresh = range(next_event, overview.event)
            next_event = max(next_event, overview.event)
            return [f"id: {number}\ndata: {json.dumps(overview.news(number))}\n\n" for number in fresh]

        return self._stream(news, PAUSE)

    async def _watch(self, request: Request) -> Response:
        """Stream changes in the folder: the progress of each study that has changed."""
        seen: dict[str, Stamp] = {}

        async def news(check: int) -> list[str]:
            nonlocal seen
            before, seen = seen, await run_in_threadpool(self._stamps)
            changed = [name for name in seen.keys() | before.keys() if seen.get(name) != before.get(name)]
            return [f"data: {json.dumps(await run_in_threadpool(self._progress, name))}\n\n" for name in changed]

        return self._stream(news, 2 * PAUSE)

    def _stamps(self) -> dict[str, Stamp]:
        stamps = {}
        for name in self.folder.names():
            with contextlib.suppress(OSError, Unknown):
                stamps[name] = stamp_of(self.folder.entry(name).path)
        return stamps

    def _progress(self, name: str) -> dict[str, Json]:
        try:
            overview = self.folder.entry(name).overview()
        except (ZonalError, OSError) as error:
            return {"study": name, "state": "gone" if isinstance(error, Unknown) else "bad"}
        counts = {"event": overview.event, "measured": overview.measured, "pending": len(overview.pending)}
        return {"study": name, **counts, "state": overview.state, "last": overview.last}

    def _stream(self, news: Callable[[int], Awaitable[list[str]]], pause: float) -> Response:
        """Send what a function returns when it is called again and again, with its number."""
        if self._streams >= MAX_STREAMS:
            return problem(503, "Too many streams", f"{MAX_STREAMS} streams are open already. Close some.")

        async def counted() -> AsyncIterator[str]:
            self._streams += 1
            try:
                yield "retry: 1000\n\n"
                for check in itertools.count():
                    for item in [*await news(check), *([] if check % BEAT else [ALIVE])]:
                        yield item
                    await asyncio.sleep(pause)
            except (OSError, ZonalError):  # the file is gone or damaged: the page asks again, and gets the error
                return
            finally:
                self._streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


NEW = next(route for route in EVERY if (route.method, route.path) == ("POST", STUDIES))


def _always(content: bytes, kind: str) -> Handler:
    """Return the handler that gives everybody the same."""

    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


async def _problem_page(request: Request) -> Response:
    """Say what a type of problem means."""
    titles = {kind: title for _, kind, title in routes.STATUSES.values()}
    title = titles.get(request.path_params["kind"])
    if title is None:
        raise HTTPException(404, "there is no page about this.")
    text = f"{title}. Each answer of this type says in `detail` what was wrong and what to do.\n"
    return Response(text, media_type="text/plain")


def _page(name: str, signed_in: bool = False) -> Handler:
    """Return the handler of a page; whoever gets one that is locked has signed in, and can sign out."""
    content = b"".join((PAGES / part).read_bytes() for part in ("head.html", name))
    return _always(content.replace(b"<html ", b"<html data-signed-in ", 1) if signed_in else content, HTML)


def _key_of(request: Request) -> str:
    return request.headers.get("idempotency-key", "")[: routes.LONGEST]
