"""A real server process, and what speaks to it."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import zonal as zn
from forked_commands import Forked
from shell import ENVIRONMENT

JSON = {"Content-Type": "application/json"}


class Said(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Server:
    """`zonal serve` in a process of its own; started again after it was killed, it has the same address."""

    def __init__(self, folder: Path, *options: str, **env: str) -> None:
        self.folder, self.port = folder, 0
        self._options, self._env = options, {**ENVIRONMENT, **env}
        self.start()

    def start(self) -> None:
        self.process = Forked("serve", self.folder, "--port", self.port, *self._options, env=self._env)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.address + self.process.end(60)
        self.port = int(self.address.rpartition(":")[2])

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Said:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, path, content, {**(JSON if body is not None else {}), **(headers or {})})
            answer = connection.getresponse()
            return Said(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Said:
        return self.send("GET", path, None, headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Said:
        return self.send("POST", path, {} if body is None else body, headers)

    def url(self, name: str) -> str:
        return f"{self.address}/studies/{quote(name)}"

    def kill(self) -> None:
        self.process.kill()
        self.process.end()

    def end(self) -> str:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            return self.process.end(15)
        return self.process.end()


@contextmanager
def serving(folder: Path, *options: str, **env: str) -> Iterator[Server]:
    server = Server(folder, *options, **env)
    try:
        yield server
    finally:
        said = server.end()
    assert "Traceback" not in said, said


def line(folder: Path, name: str = "line", budget: int = 30, told: int = 0, **more: Any) -> zn.Study:
    """Make a quick study along one axis."""
    given: dict[str, Any] = {"kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": 0, **more}
    study = zn.Study.create(folder / f"{name}.db", zn.Box({"x": (0, 1)}), budget=budget, **given)
    for _ in range(told):
        trial = study.ask(by="a test")
        study.tell(trial, round(1 - abs(float(trial.region.center[0]) - 0.7), 3))
    return study
