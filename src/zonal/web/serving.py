"""Running the service: where it listens, its token, and how it ends."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from zonal.errors import InvalidInput
from zonal.web.service import Service

VARIABLE = "ZONAL_TOKEN"
SHORTEST = 16  # characters of a token
PATIENCE = 3  # seconds to finish requests when the service ends


def serve(
    folder: Path, host: str, port: int, names: Sequence[str], show: bool, say: Callable[[str], None]
) -> None:
    """Serve a folder of studies until interrupted.

    `names` are host names by which it is reached, for example through a proxy. If `show`, a browser is opened. The
    address, and the token if there is a new one, are said by `say`.
    """
    token = os.environ.get(VARIABLE, "")
    if token and len(token) < SHORTEST:
        raise InvalidInput(f"{VARIABLE} is too short", f"{len(token)} characters", f"Use {SHORTEST} at least.")
    beyond = not _is_loopback(host) or bool(names)
    made = beyond and not token
    token = secrets.token_urlsafe(24) if made else token
    own_names = (socket.gethostname(), socket.getfqdn()) if beyond else ()
    service = Service(folder, token, (*names, *own_names))
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}"
    say(address)
    if made:
        say(f"token: {token}  (shown once; set {VARIABLE} to choose your own)")
    if show:
        webbrowser.open(address)
    config = uvicorn.Config(
        service.app, log_level="warning", access_log=False, timeout_graceful_shutdown=PATIENCE,
        server_header=False, forwarded_allow_ips="127.0.0.1",
    )  # fmt: skip
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


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
