"""Running the service: its address, its token, and the server under it."""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from zonal.errors import InvalidInput, require
from zonal.web.service import Service

ARENAS, M_ARENA_MAX = 2, -8  # pools of memory that glibc may keep; one for each thread kept more than a gigabyte
VARIABLE = "ZONAL_TOKEN"
SHORTEST = 16  # characters of a token
EVERYWHERE = ("0.0.0.0", "::")  # a service that listens here is reached by any address of its machine
MAX_CONNECTIONS = 1000  # at once, half-sent requests included
PATIENCE = 3  # seconds to finish requests when the service ends


def serve(
    folder: Path, host: str, port: int, names: Sequence[str], show: bool, say: Callable[[str], None]
) -> None:
    """Serve a folder of studies until interrupted.

    `names` are host names by which it is reached, for example through a proxy. If `show`, a browser is opened. The
    address, and the token if there is a new one, are said by `say`.
    """
    token = os.environ.get(VARIABLE, "")
    long = not token or len(token) >= SHORTEST
    require(long, f"{VARIABLE} is too short", f"{len(token)} characters", f"Use {SHORTEST} at least.")
    beyond = not _is_loopback(host) or bool(names)
    makes_token = beyond and not token
    token = secrets.token_urlsafe(24) if makes_token else token
    own_names = (socket.gethostname(), socket.getfqdn()) if beyond else ()
    service = Service(folder, token, (*names, *own_names))
    listening = _listen(host, port)
    addresses = [f"http://{name}:{listening.getsockname()[1]}" for name in _reached_at(host)]
    say(addresses[0])
    if makes_token:
        say(f"token: {token}  (shown once; set {VARIABLE} to choose your own)")
    for address in addresses[1:]:
        say(f"or {address}")
    if beyond:
        say("What is sent is not encrypted: use it in a network that you trust, or behind a proxy that encrypts.")
    if show:
        webbrowser.open(addresses[0])
    _bound_memory()
    config = uvicorn.Config(
        service.app, log_level="warning", access_log=False, timeout_graceful_shutdown=PATIENCE,
        server_header=False, limit_concurrency=MAX_CONNECTIONS, forwarded_allow_ips="127.0.0.1",
    )  # fmt: skip
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def _bound_memory() -> None:
    """Have all threads share two pools of memory: what one frees, another uses."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)


def _reached_at(host: str) -> list[str]:
    """Return the names and addresses by which a service that listens here is reached."""
    if host not in EVERYWHERE:
        return [f"[{host}]" if ":" in host else host]
    names = [socket.gethostname()]
    with contextlib.suppress(OSError):
        places = socket.getaddrinfo(names[0], None, type=socket.SOCK_STREAM)
        kinds = (socket.AF_INET,) if host == EVERYWHERE[0] else (socket.AF_INET, socket.AF_INET6)
        plain = [str(place[4][0]) for place in places if place[0] in kinds and "%" not in str(place[4][0])]
        names += [f"[{address}]" if ":" in address else address for address in plain]
    return list(dict.fromkeys([*names, "127.0.0.1"]))


def _is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise if that is not possible."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot listen here ({why})", f"{host}:{port}", "Pass another --port.") from None
