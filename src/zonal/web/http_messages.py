"""Reading requests and writing answers: JSON, and errors with the library's messages."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from zonal import __version__
from zonal._types import Json
from zonal.errors import StudyFileError
from zonal.study.summary import Answer
from zonal.web.handlers import Misspoken, dumped, need_field
from zonal.web.routes import STATUSES, Schema
from zonal.web.security import problem


def number_of(text: str) -> int:
    """Return the number of a trial from a path."""
    short = text.isdecimal() and len(text) < 16
    need_field(short, "trial", "a trial must be a number", text, "Trials are counted from 0.")
    return int(text)


async def body(request: Request) -> Json:
    """Return the JSON of a request."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "the body must be JSON. Send Content-Type: application/json.")
    content = await request.body()
    if not content.strip():
        return {}

    def reject(text: str) -> None:
        raise ValueError(f"{text} is not a number of JSON")

    try:
        document: Json = json.loads(content.decode(), parse_constant=reject)
        json.dumps(document, ensure_ascii=False).encode()  # raises if the text cannot be stored in a file
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"this is not JSON: {str(error)[:200]}") from None
    return document


def query(request: Request, schemas: Mapping[str, Schema]) -> dict[str, Json]:
    """Return the fields of a query, in the types of their schemas; they are checked later."""
    fields: dict[str, Json] = {}
    for name, text in request.query_params.multi_items():
        need_field(name not in fields, name, f"{name} is given twice", text, "Give it once.")
        kind, fields[name] = schemas.get(name, {}).get("type"), text
        if kind in ("integer", "number", "boolean"):
            with contextlib.suppress(ValueError, RecursionError):
                fields[name] = json.loads(text.lower())
        if kind == "boolean" and fields[name] in (0, 1):
            fields[name] = bool(fields[name])
    return fields


def as_bytes(answer: Answer | bytes) -> bytes:
    """Return the content of an answer: a text or bytes as they are, anything else as JSON."""
    if isinstance(answer, bytes):
        return answer
    return answer.encode() if isinstance(answer, str) else dumped(answer)


def as_json(content: bytes, status: int = 200) -> Response:
    """Return an answer that is JSON already."""
    return Response(content, status, media_type="application/json")


def tagged(request: Request, content: bytes, digest: str, kind: str) -> Response:
    """Return an answer with a tag of what it follows from; a client that has it already gets 304.

    `digest` is that of the study's last event: another study in its place, or another release, has another tag.
    """
    tag = f'W/"{digest}-{__version__}"'
    tags_held = {text.strip() for text in request.headers.get("if-none-match", "").split(",")}
    if tags_held & {tag, tag.removeprefix("W/"), "*"}:
        return Response(status_code=304, headers={"etag": tag})
    return Response(content, media_type=kind, headers={"etag": tag})


async def refused(request: Request, error: Exception) -> Response:
    """Answer with the library's message."""
    status, kind, title = next(answer for kind, answer in STATUSES.items() if isinstance(error, kind))
    return problem(status, title, str(error), error.field if isinstance(error, Misspoken) else "", kind)


async def unreadable(request: Request, error: Exception) -> Response:
    """Answer that the system cannot read a file."""
    assert isinstance(error, OSError)
    _, kind, title = STATUSES[StudyFileError]
    return problem(409, title, f"the file cannot be read ({error.strerror}).", kind=kind)


async def unfit(request: Request, error: Exception) -> Response:
    """Answer that a request is not one of HTTP that is understood here."""
    assert isinstance(error, HTTPException)
    title = "Too large" if error.status_code == 413 else "Refused"
    answer = problem(error.status_code, title, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def gone(request: Request, error: Exception) -> Response:
    """Answer nobody: the client ended in the middle of its request."""
    return Response(status_code=400)


async def broken(request: Request, error: Exception) -> Response:
    """Answer that the program failed; details go to the log, not to the client."""
    return problem(500, "Error in Zonal", f"this should not have happened ({type(error).__name__}). See the log.")
