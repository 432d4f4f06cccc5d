"""The service: a folder of studies over HTTP, with the methods of the library, and the page."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from zonal import __version__
from zonal.errors import StudyFileError, ZonalError
from zonal.study import Study
from zonal.web import api, documents
from zonal.web.api import given, new_study
from zonal.web.documents import dumped
from zonal.web.folder import Entry, Folder, Unknown, is_replaced
from zonal.web.guard import COOKIE, Guard, TooLarge, cookie_of, problem, same
from zonal.web.openapi import described
from zonal.web.record import stamp_of
from zonal.web.speech import as_json, body, broken, number_of, query, refused, said_of, tagged

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]

STUDIES, STUDY = "/api/studies", "/api/studies/{name}"
LOOK = 0.2  # seconds between two checks of a file
LONGEST_WAIT = 0.5  # seconds that a page waits for a posterior before it gets an answer without one
MANY_EVENTS = 1000  # with more, opening a study takes longer than that
SURELY = 5  # checks after which a file is read even if it seems unchanged
BEAT, ALIVE = 75, ": still here\n\n"  # checks between two keep-alive messages of a stream
MOST_STREAMS = 100
PAGES = resources.files("zonal.web") / "page"
HTML = "text/html; charset=utf-8"


class Service:
    """The service.

    Parameters
    ----------
    folder : Path
        The folder of studies.
    token : str
        Required from everybody; "" for none.
    hosts : iterable of str
        Host names by which it is reached from elsewhere.
    """

    def __init__(self, folder: Path, token: str = "", hosts: Iterable[str] = ()) -> None:
        self.folder = Folder(folder)
        self._token = token
        self._streams = 0
        self.routes = [*_OWN, *(replace(route, path=STUDY + route.path) for route in api.ROUTES)]
        self._document = dumped(described(self.routes, __version__))
        listed = [
            Route(route.path, self._word(route) if callable(route.does) else getattr(self, f"_{route.does}"),
                  methods=[route.method])
            for route in self.routes
        ]  # fmt: skip
        pages = [
            Route("/", self._page("index.html")),
            Route("/studies/{name}", self._page("study.html")),
            Route("/login", self._page("login.html")),
            Route("/login", self._login, methods=["POST"]),
            Mount("/static", StaticFiles(directory=str(PAGES / "static"))),
        ]
        refusals = {HTTPException: refused, ZonalError: refused, TooLarge: refused, OSError: refused}
        app = Starlette(
            routes=[*listed, *pages], exception_handlers={Exception: broken, **refusals}, lifespan=self._life
        )
        self.app = Guard(GZipMiddleware(app, minimum_size=1000, compresslevel=5), token=token, hosts=hosts)

    @contextlib.asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.folder.end()

    def _page(self, name: str) -> Handler:
        content = b"".join((PAGES / part).read_bytes() for part in ("head.html", name))

        async def answer(request: Request) -> Response:
            return Response(content, media_type=HTML)

        return answer

    async def _login(self, request: Request) -> Response:
        said = given(await body(request), {"token": api.TEXT}, ("token",))
        if not self._token or not same(said["token"], self._token):
            await asyncio.sleep(0.5)
            return problem(401, "No token", "this is not the token that `zonal serve` printed.", field="token")
        answer = Response(status_code=204)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, cookie_of(self._token), httponly=True, samesite="strict", secure=secure)
        return answer

    async def _openapi(self, request: Request) -> Response:
        return Response(self._document, media_type="application/json")

    def _entry(self, request: Request) -> Entry:
        return self.folder.entry(request.path_params["name"])

    async def _in_study(self, entry: Entry, does: Callable[[Study], T], wait: float | None = None) -> T:
        """Run a function in a study's own thread; TimeoutError if it takes too long, though it continues."""
        for again in (True, False):
            future = asyncio.wrap_future(entry.submit(does))
            try:
                return await asyncio.wait_for(asyncio.shield(future), wait)
            except StudyFileError as error:
                if not (again and is_replaced(error)):
                    raise
                entry.forget()
            except TimeoutError:
                future.add_done_callback(lambda done: done.cancelled() or done.exception())
                raise
        raise AssertionError("unreachable")

    def _word(self, route: api.Route) -> Handler:
        """Return the handler of one operation on a study."""
        does = route.does
        assert callable(does)

        async def answer(request: Request) -> Response:
            entry = await run_in_threadpool(self._entry, request)
            said = await body(request) if route.method == "POST" else query(request, route.says)
            words = given(said, route.says, route.needs)
            if "trial" in request.path_params:
                words["trial"] = number_of(request.path_params["trial"])
            if route.method == "POST":
                key = request.headers.get("idempotency-key", "")[: api.LONGEST]
                who = {"by": request.client.host if request.client else "somebody", "key": key}
                words |= {name: own for name, own in who.items() if name in route.says and not words.get(name)}
                return as_json(await self._in_study(entry, lambda study: dumped(does(study, **words))))

            def made(study: Study) -> bytes:
                found = does(study, **words)
                return found.encode() if isinstance(found, str) else dumped(found)

            what = route.path, tuple(sorted((name, str(own)) for name, own in words.items()))
            content, event = await self._in_study(
                entry, lambda study: (entry.answer(study, what, made), len(study._state.events))
            )
            return tagged(request, content, event, route.kind)

        return answer

    async def _studies(self, request: Request) -> Response:
        """List all studies: from their journals alone, with the answers of those that are open."""

        async def one(name: str) -> dict[str, Any]:
            try:
                entry = self.folder.entry(name)
                record = await asyncio.wait_for(run_in_threadpool(entry.record), LONGEST_WAIT)
                line = record.line(name)
            except TimeoutError:
                return {"name": name, "state": "opening"}
            except Unknown:  # deleted meanwhile
                return {}
            except Exception as error:  # an error in one file must not hide the others
                return {"name": name, "state": "bad", "error": said_of(error)}
            known = entry.kept.get("answer")
            found = known[1] if known is not None and known[0] == record.event else {}
            best = next(iter(found.get("best", [])), None)
            return {**line, "best": best, "stands_out": found.get("stands_out", False)}

        names = await run_in_threadpool(self.folder.names)
        found = list(filter(None, await asyncio.gather(*map(one, names))))
        return as_json(dumped({"folder": self.folder.path.name, "studies": found}))

    async def _new(self, request: Request) -> Response:
        said = given(await body(request), _NEW, ("name", "recipe"))
        path = self.folder.new(said["name"])

        def make() -> dict[str, Any]:
            study = Study.create(path, **new_study(said["recipe"]), exist_ok=said.get("exist_ok", False))
            return {"name": said["name"], "address": f"/studies/{quote(said['name'])}", **api.standing(study)}

        return as_json(dumped(await run_in_threadpool(make)))

    async def _head(self, request: Request) -> Response:
        """Return the main facts of a study, and the answer if the posterior is available soon."""
        entry = await run_in_threadpool(self._entry, request)
        record = await run_in_threadpool(entry.record)
        head = await run_in_threadpool(record.head, entry.name)
        wait = LONGEST_WAIT if entry.study is not None or record.event < MANY_EVENTS else 0.01
        try:
            found = await self._in_study(entry, lambda own: entry.answer(own, "answer", documents.answer), wait)
        except TimeoutError:
            known = entry.kept.get("answer")
            found = {"best": [], **(known[1] if known else {}), "busy": True}
            head["state"] = head["state"] if entry.is_open else "opening"
        return as_json(dumped(head | found))

    async def _trials(self, request: Request) -> Response:
        said = given(query(request, _TRIALS), _TRIALS, ())
        entry = await run_in_threadpool(self._entry, request)
        record = await run_in_threadpool(entry.record)
        content = await run_in_threadpool(
            lambda: dumped(record.trials(said.get("from", 0), said.get("named", False)))
        )
        return tagged(request, content, record.event)

    async def _journal(self, request: Request) -> Response:
        said = given(query(request, _AFTER), _AFTER, ())
        entry = await run_in_threadpool(self._entry, request)
        record = await run_in_threadpool(entry.record)
        rows = await run_in_threadpool(record.journal.rows, said.get("after", -1) + 1)
        return as_json(dumped([_event(row) for row in rows[: api.MOST_REGIONS]]))

    async def _file(self, request: Request) -> Response:
        """Send a copy of the study's file, taken between two writes."""
        entry = await run_in_threadpool(self._entry, request)
        content = await run_in_threadpool(lambda: entry.record().journal.copy())
        return _attached(content, "application/vnd.sqlite3", entry.path.name)

    async def _report(self, request: Request) -> Response:
        from zonal.web.report import report

        entry = await run_in_threadpool(self._entry, request)
        content = await self._in_study(entry, lambda study: entry.answer(study, "report", report))
        return _attached(content.encode(), HTML, f"{entry.name}.html")

    async def _events(self, request: Request) -> Response:
        """Stream a study's events after a number, as they are written by any process."""
        said = given(query(request, _AFTER), _AFTER, ())
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 16 else said.get("after", -1)
        entry = await run_in_threadpool(self._entry, request)
        await run_in_threadpool(entry.record)  # raises now

        async def news() -> AsyncIterator[str]:
            known, seen = after + 1, None
            for look in itertools.count():
                stamp = stamp_of(entry.path)
                if stamp != seen or look % SURELY == 0:
                    seen = stamp
                    record = await run_in_threadpool(entry.record)
                    rows = await run_in_threadpool(record.journal.rows, known)
                    for row in rows:
                        facts = _event(row)["facts"]  # an event of an early release is one fact
                        kinds = [fact.get("$", "") for fact in (facts if isinstance(facts, list) else [facts])]
                        said = {"number": row.number, "time": row.time, "facts": kinds}
                        yield f"id: {row.number}\ndata: {json.dumps(said)}\n\n"
                    known = rows[-1].number + 1 if rows else known
                yield "" if look % BEAT else ALIVE
                await asyncio.sleep(LOOK)

        return self._stream(news())

    async def _watch(self, request: Request) -> Response:
        """Stream changes in the folder: the progress of each study that has changed."""

        async def news() -> AsyncIterator[str]:
            seen: dict[str, Any] = {}
            for look in itertools.count():
                now = await run_in_threadpool(self._stamps)
                for name in now.keys() | seen.keys():
                    if now.get(name) != seen.get(name):
                        data = await run_in_threadpool(self._progress, name)
                        yield f"data: {json.dumps(data)}\n\n"
                seen = now
                yield "" if look % BEAT else ALIVE
                await asyncio.sleep(2 * LOOK)

        return self._stream(news())

    def _stamps(self) -> dict[str, Any]:
        found = {}
        for name in self.folder.names():
            with contextlib.suppress(OSError, Unknown):
                found[name] = stamp_of(self.folder.entry(name).path)
        return found

    def _progress(self, name: str) -> dict[str, Any]:
        try:
            record = self.folder.entry(name).record()
        except (ZonalError, OSError) as error:
            return {"study": name, "state": "gone" if isinstance(error, Unknown) else "bad"}
        own = {"event": record.event, "told": record.told, "pending": len(record.pending)}
        return {"study": name, **own, "state": record.state, "last": record.last}

    def _stream(self, news: AsyncIterator[str]) -> Response:
        if self._streams >= MOST_STREAMS:
            return problem(503, "Too many streams", f"{MOST_STREAMS} streams are open already. Close some.")

        async def counted() -> AsyncIterator[str]:
            self._streams += 1
            try:
                yield "retry: 1000\n\n"
                async for item in news:
                    if item:
                        yield item
            except (OSError, ZonalError):  # the file is gone or damaged: the page asks again, and gets the error
                return
            finally:
                self._streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


_AFTER = {"after": {"type": "integer", "minimum": -1, "maximum": 2**53}}
_TRIALS = {"from": api.TRIAL, "named": api.YES}
_NEW = {"name": api.TEXT, "recipe": {"type": "object"}, "exist_ok": api.YES}


_OWN = [
    api.Route("GET", STUDIES, "", "All studies of the folder: progress, best region, last event.", "studies"),
    api.Route("POST", STUDIES, "", "Start a study from a recipe.", "new", _NEW, ("name", "recipe")),
    api.Route("GET", "/api/events", "", "A stream of what changes in the folder.", "watch",
              kind="text/event-stream"),
    api.Route("GET", "/api/openapi.json", "", "This description.", "openapi"),
    api.Route("GET", STUDY, "", "The progress of a study, the trials under way, and the answer so far.", "head"),
    api.Route("GET", f"{STUDY}/trials", "", "All trials, as columns.", "trials", _TRIALS),
    api.Route("GET", f"{STUDY}/journal", "", "The study's events after a number, at most a thousand.",
              "journal", _AFTER),
    api.Route("GET", f"{STUDY}/events", "", "A stream of the study's events after a number.", "events", _AFTER,
              kind="text/event-stream"),
    api.Route("GET", f"{STUDY}/export/study.db", "", "The study's file.", "file", kind="application/vnd.sqlite3"),
    api.Route("GET", f"{STUDY}/export/report.html", "", "One page for a colleague.", "report", kind="text/html"),
]  # fmt: skip


def _attached(content: bytes, kind: str, name: str) -> Response:
    named = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=kind, headers=named)


def _event(row: Any) -> dict[str, Any]:
    return {"number": row.number, "time": row.time, "facts": json.loads(row.event)}
