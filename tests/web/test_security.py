"""Who may come in, and what harm may be done: one test each."""

from __future__ import annotations

import csv
import http.client
import io
import os
import re
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from processes import wait_for
from web.server_process import Server, line, serving
from zonal import web
from zonal.web.service import MAX_STREAMS

TOKEN = "a-token-of-a-test-0123456789"
AT = "/api/v1/studies/line"
FORMULA = '=HYPERLINK("http://evil.example")'
NASTY = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studies")
    line(folder, told=3)
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("locked")
    line(folder, told=3)
    with serving(folder, ZONAL_TOKEN=TOKEN) as made:
        yield made


def test_without_the_token_nothing_is_told(locked: Server) -> None:
    for path in ("/api/v1/studies", AT, f"{AT}/events", "/api/v1/openapi.json", f"{AT}/export/study.db"):
        said = locked.get(path)
        assert said.status == 401
        assert "line" not in said.json["detail"]
    assert locked.post(f"{AT}/ask").status == 401
    assert locked.get("/").headers["location"] == "/login"
    assert locked.get(AT, Authorization="Bearer wrong").status == 401
    assert locked.get(AT, Authorization="Bearer é").status == 401
    assert locked.get(f"{AT}?token={TOKEN}").status == 401
    assert locked.get(AT, Authorization=f"Bearer {TOKEN}").status == 200


def test_a_page_gets_a_cookie_that_scripts_cannot_read(locked: Server) -> None:
    assert locked.get("/login").status == 200
    assert locked.post("/login", {"token": "wrong"}).status == 401
    cookie = locked.post("/login", {"token": TOKEN}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert TOKEN not in cookie
    assert locked.get(AT, Cookie=cookie.partition(";")[0]).status == 200
    assert locked.get(AT, Cookie="zonal=wrong").status == 401


def test_beyond_loopback_a_token_is_made_and_printed_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0") as server:
        token = server.process.stdout.readline().split()[1]
        assert server.get("/api/v1/studies").status == 401
        assert server.get("/api/v1/studies", Authorization=f"Bearer {token}").status == 200


def test_pages_of_other_sites_may_not_talk_to_it(server: Server) -> None:
    for origin in ("http://evil.example", "null", "https://127.0.0.1", f"http://127.0.0.1:{server.port + 1}"):
        assert server.post(f"{AT}/ask", {}, Origin=origin).status == 403
        assert server.get(AT, Origin=origin).status == 403
    assert server.get(AT, **{"Sec-Fetch-Site": "cross-site"}).status == 403
    assert server.get(AT, Origin=server.address).status == 200
    assert server.get(AT).status == 200  # curl and instruments send no origin


def test_a_forged_host_is_refused(server: Server) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost@evil.example", "[::1"):
        assert server.get(AT, Host=host).status in (400, 421), host
    assert server.get(AT, Host="localhost:9999").status == 200  # as through a tunnel


def test_a_path_as_name_does_not_leave_the_folder(server: Server, tmp_path: Path) -> None:
    outside = line(tmp_path, "secret", told=1)
    assert outside.path is not None
    inside = os.path.relpath(outside.path, server.folder).removesuffix(".db")
    absolute = str(outside.path).removesuffix(".db")
    for name in ("..%2Fsecret", inside.replace("/", "%2F"), absolute.replace("/", "%2F"), "%2e%2e", ".hidden",
                 "a%00b", "x" * 300, "%5C.."):  # fmt: skip
        for path in ("", "/ask", "/export/study.db"):
            said = server.send("POST" if path == "/ask" else "GET", f"/api/v1/studies/{name}{path}")
            assert said.status == 404, name
    for name in ("../x", "a/b", ".x", "", "x" * 81, "a\0", "con\n"):
        made = server.post("/api/v1/studies", {"name": name, "recipe": {"budget": 1, "axes": {"x": [0, 1]}}})
        assert made.status == 422, name


def test_a_symlink_out_of_the_folder_is_no_study(server: Server, tmp_path: Path) -> None:
    outside = line(tmp_path, "secret", told=1)
    assert outside.path is not None
    link = server.folder / "link.db"
    link.symlink_to(outside.path)
    for path in ("", "/trials", "/export/study.db", "/events"):
        assert server.get(f"/api/v1/studies/link{path}").status == 404
    assert server.post("/api/v1/studies/link/ask").status == 404
    assert "link" not in {own["name"] for own in server.get("/api/v1/studies").json["studies"]}
    link.unlink()
    assert outside.measured == 1


def test_open_streams_are_limited_and_given_back(server: Server) -> None:
    def stream(opened: ExitStack) -> str:
        line = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
        line.sendall(f"GET {AT}/events?after=99 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return line.recv(100).split(b" ")[1].decode()

    with ExitStack() as opened:
        assert {stream(opened) for _ in range(MAX_STREAMS)} == {"200"}
        assert stream(opened) == "503"
        assert server.get(AT).status == 200  # everything else goes on
    with ExitStack() as opened:
        wait_for(lambda: stream(opened) == "200")


def test_recipes_name_no_file(server: Server) -> None:
    for section in ("points", "hierarchy"):
        recipe = {"budget": 3, section: {"table": "/etc/passwd", "coords": ["a"]}}
        said = server.post("/api/v1/studies", {"name": "files", "recipe": recipe})
        assert said.status == 422
        assert "names a file" in said.json["detail"]
        assert "passwd" not in said.json["detail"]
    assert not (server.folder / "files.db").exists()


def test_ten_megabytes_are_refused(server: Server) -> None:
    def sent(content: Any, **how: bool) -> int | None:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            with suppress(OSError):  # it hangs up before all is sent, and may be heard all the same
                connection.request("POST", f"{AT}/ask", content, {"Content-Type": "application/json"}, **how)
            with suppress(OSError):
                return connection.getresponse().status
        return None

    parts = [b"x" * 100_000 for _ in range(100)]
    heard = [sent(b" " * 10_000_000), sent(iter(parts), encode_chunked=True), sent(b" " * 10_000_000)]
    assert {413} <= {*heard} <= {413, None}
    assert server.get(AT).status == 200


def test_every_answer_has_its_headers(server: Server) -> None:
    for path in ("/", "/studies/line", AT, "/static/study.js", "/api/nothing", "/static/none.js"):
        headers = server.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
    assert server.get("/static/study.js").headers["content-type"].startswith("text/javascript")
    assert server.get("/static/../service.py").status == 404
    assert server.get("/static/..%2f..%2fservice.py").status == 404


def test_html_and_formulas_in_texts_are_harmless(server: Server) -> None:
    """What a spreadsheet would run, and what a browser would: in notes, names, units, symbols, who asked."""
    space = {"symbols": [NASTY, FORMULA, "@SUM(1)", "+1", "-1"]}
    recipe = {"budget": 9, "axes": {FORMULA: space}, "measurement": {"name": NASTY, "unit": FORMULA, "noise": 0.1}}
    assert server.post("/api/v1/studies", {"name": "texts", "recipe": recipe}).status == 201
    at = "/api/v1/studies/texts"
    for number, note in enumerate((FORMULA, NASTY, "\t=1", "@x")):
        server.post(f"{at}/ask", {"by": NASTY})
        server.post(f"{at}/trials/{number}/tell", {"value": 1.0, "note": note})
    server.post(f"{at}/trials/0/correct", {"value": 0.5, "note": FORMULA, "by": FORMULA})
    server.post(f"{at}/ask", {"by": FORMULA})
    for sheet in ("trials.csv", "questions.csv"):
        text = server.get(f"{at}/export/{sheet}").content.decode()
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert not [cell for cell in cells if cell.lstrip()[:1] in ("=", "@", "+") or cell.startswith("-1:")]
    report = server.get(f"{at}/export/report.html").content.decode()
    assert NASTY not in report
    assert "&lt;img" in report
    for path in ("", "/trials", "/export/trials.json", "/shape"):
        assert server.get(at + path).headers["content-type"] == "application/json"
    (server.folder / "texts.db").unlink()


def _random(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + os.urandom(4096))


def _with_a_view(path: Path) -> None:
    line(path.parent, path.stem, told=2)
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE VIEW more AS SELECT load_extension('evil')")


def _with_other_settings(path: Path) -> None:
    line(path.parent, path.stem, told=2)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE study SET settings = ?", ['{"space": {"$": "class", "name": "Popen"}}'])


def _deeply_nested(path: Path) -> None:
    line(path.parent, path.stem, told=2)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE events SET event = ? WHERE number = 1", ["[" * 100_000])


@pytest.mark.parametrize("hostile", [_random, _with_a_view, _with_other_settings, _deeply_nested])
def test_a_hostile_file_harms_only_its_own_page(server: Server, hostile: Callable[[Path], None]) -> None:
    path = server.folder / "hostile.db"
    hostile(path)
    for part in ("", "/trials", "/values", "/export/study.db", "/export/report.html"):
        said = server.get(f"/api/v1/studies/hostile{part}")
        assert said.status == 409, part
        assert said.headers["content-type"] == "application/problem+json"
        assert str(server.folder) not in said.json["detail"]
    listed = {"hostile": "opening"}
    while "opening" in listed.values():  # a busy machine takes its time
        listed = {own["name"]: own["state"] for own in server.get("/api/v1/studies").json["studies"]}
    assert listed["hostile"] == "bad"
    assert listed["line"] != "bad"
    assert server.get(f"{AT}/values").status == 200
    path.unlink()


def test_nothing_starts_programs_or_runs_what_it_reads() -> None:
    here = Path(web.__file__).parent
    forbidden = r"\b(pickle|eval|exec|subprocess|os\.system|popen|shelve|marshal|__import__)\b"
    modules, scripts, pages = (list(here.rglob(kind)) for kind in ("*.py", "*.js", "*.html"))
    assert min(map(len, (modules, scripts, pages))) > 3
    for file in modules:
        assert not re.search(forbidden, file.read_text()), file.name
    for file in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", file.read_text()
        )
    for file in pages:
        assert not re.search(r"<script>|\bon\w+=|\bstyle=|https?://", file.read_text()), file.name


def test_a_file_put_in_anothers_place_is_opened_anew(server: Server, tmp_path: Path) -> None:
    line(server.folder, "swapped", told=2)
    assert server.get("/api/v1/studies/swapped/recommend").status == 200
    other = line(tmp_path, "other", told=5)
    assert other.path is not None
    os.replace(other.path, server.folder / "swapped.db")
    assert server.get("/api/v1/studies/swapped").json["measured"] == 5
    assert server.post("/api/v1/studies/swapped/ask").status == 200
    assert zn.Study.open(server.folder / "swapped.db").measured == 5
