"""Access control: hosts, origins, the token, the size of requests; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES, MAX_LOGIN = 1_000_000, 2000  # of a request, and of one with a token
MAX_PAUSE = 30  # seconds to wait for the next part of a request
COOKIE = "zonal"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
OPEN = ("/static/", "/login", "/favicon.ico")  # to anybody: the page's own code, and where to enter the token
HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'; require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


def problem(status: int, title: str, detail: str, field: str = "", kind: str = "") -> Response:
    """Return an error for programs and people (RFC 9457), with the wrong field if it is known.

    `kind` is what programs know it by; by default it follows from the title.
    """
    slug = kind or re.sub(r"\W+", "-", title.lower())
    body = {"type": f"/problems/{slug}", "title": title, "status": status, "detail": detail}
    body |= {"field": field} if field else {}
    return JSONResponse(body, status, media_type="application/problem+json")


def cookie_of(token: str) -> str:
    """Return what a browser stores instead of the token; the token cannot be computed from it."""
    return hmac.new(token.encode(), b"zonal cookie", hashlib.sha256).hexdigest()


def same(secret: str, other: str) -> bool:
    """Compare two secrets in a time that reveals nothing about them."""
    return hmac.compare_digest(secret.encode("utf-8", "surrogateescape"), other.encode("utf-8", "surrogateescape"))


class SecurityMiddleware:
    """Checks every request before the service: a token is required from everybody, unless it is "".

    The service is reached by the names of `hosts`, besides loopback and its own address.
    """

    def __init__(self, app: ASGIApp, token: str = "", hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie_of(token)
        self._hosts = LOOPBACK | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with a refusal."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope, HTTPConnection(scope))
        if refused is not None:
            return await refused(scope, receive, dressed)
        await self._app(scope, _limited(receive, _most_bytes(scope)), dressed)

    def _refusal(self, scope: Scope, request: HTTPConnection) -> Response | None:
        headers = request.headers
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._is_host(host, scope):
            named = "Use the address that `zonal serve` printed, or name this one with --name."
            return problem(421, "Unknown host", f"this service is not known as {host[:100]!r}. {named}")
        if _is_foreign(headers, scope["path"]):
            return problem(403, "Foreign origin", "pages of other sites may not use this service.")
        length = headers.get("content-length", "0")
        most = _most_bytes(scope)
        if not length.isdecimal() or int(length) > most:
            return problem(413, "Too large", f"a request may have {most} bytes at most.")
        if self._token and not scope["path"].startswith(OPEN) and not self._is_authorized(request):
            return self._unknown(scope)
        return None

    def _unknown(self, scope: Scope) -> Response:
        if scope["path"].startswith("/api") or scope["method"] != "GET":
            detail = "this service requires its token. Send it as `Authorization: Bearer TOKEN`."
            answer = problem(401, "No token", detail)
            answer.headers["www-authenticate"] = 'Bearer realm="zonal"'
            return answer
        wanted = "" if scope["path"] == "/" else f"?next={quote(scope['path'], safe='/')}"
        return Response(status_code=303, headers={"location": f"/login{wanted}"})

    def _is_host(self, host: str, scope: Scope) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        server = scope.get("server") or ("", 0)
        return bool(name) and (name in self._hosts or (bool(self._token) and name == server[0]))

    def _is_authorized(self, request: HTTPConnection) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(token.strip(), self._token):
            return True
        return same(request.cookies.get(COOKIE, ""), self._cookie)


def _is_foreign(headers: Headers, path: str) -> bool:
    """Tell whether a page of another site sends a request."""
    host, origin = headers.get("host", ""), headers.get("origin")
    fetched = headers.get("sec-fetch-site", "none")
    foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    return foreign or (fetched not in ("same-origin", "none") and path.startswith("/api/"))


def _most_bytes(scope: Scope) -> int:
    return MAX_LOGIN if scope["path"] == "/login" else MAX_BYTES


def _limited(receive: Receive, most: int) -> Receive:
    """Limit the size of a request, whatever its headers say, and the time to wait for its parts."""
    taken, complete = 0, False

    async def limited() -> Message:
        nonlocal taken, complete
        try:
            message = await asyncio.wait_for(receive(), None if complete else MAX_PAUSE)
        except TimeoutError:
            raise HTTPException(408, f"nothing came for {MAX_PAUSE} seconds. Send the request again.") from None
        if message["type"] == "http.request":
            complete = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413, "a request may not be that long.")
        return message

    return limited
