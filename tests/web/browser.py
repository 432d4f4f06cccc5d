"""A real Chromium: Debian's, driven by playwright; tests are skipped, and say so, where there is none."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from web.server_process import Server

PATIENCE = 90.0  # seconds for what a busy machine shows late
# The first is the same engine without windows: half the work.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """Return a browser, or skip."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    with driver.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page that complains of every error, violation and request to elsewhere."""

    def __init__(
        self, browser: Any, server: Server, width: int = 1400, dark: bool = False, name: str = "Ada", **more: Any
    ) -> None:
        self.server = server
        self.wrong: list[str] = []
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **more)
        self.context.set_default_timeout(1000 * PATIENCE)
        if name:
            own = "location.protocol.startsWith('http')"
            self.context.add_init_script(f"{own} && localStorage.setItem('zonal-name', {name!r})")
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._asked)
        self.forgiven = 0  # errors of the network, which are wanted where a server is killed

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and not (
            "Failed to load resource" in message.text and self.forgiven
        ):
            self.wrong.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.server.address, "data:", "blob:")):
            self.wrong.append(f"a request to {request.url}")

    def go(self, path: str) -> Any:
        self.page.goto(self.server.address + path)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def new_study(self, name: str, kind: str = "") -> Any:
        """Open the form of a new study, and give its name and, if it is not a box, the kind of its space."""
        page = self.go("/")
        page.get_by_role("button", name="New study").click()
        page.locator("[name=name]").fill(name)
        if kind:
            page.get_by_label("the space").select_option(kind)
        return page

    def text(self, name: str) -> str:
        found: str = self.page.inner_text(f"#{name}")
        return found

    def shows(self, name: str, words: str, seconds: float = PATIENCE) -> None:
        """Wait until a part of the page has some words."""
        self.page.locator(f"#{name}", has_text=words).wait_for(timeout=1000 * seconds)

    def settle(self) -> None:
        """Wait until everything that follows an event is drawn."""
        self.page.wait_for_selector("html[data-settled]", state="attached")

    def drawn(self, *earlier: str) -> str:
        """Return what is on the picture's canvas, once it is something else than before."""
        found: str
        until = time.monotonic() + PATIENCE
        while (found := self.page.evaluate("document.querySelector('#picture canvas').toDataURL()")) in earlier:
            assert time.monotonic() < until, "nothing else is drawn"
            self.page.wait_for_timeout(20)
        return found

    def loaded(self) -> int:
        """Return how many bytes the page took from the server."""
        found: int = self.page.evaluate(
            "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
            ".reduce((sum, own) => sum + own.transferSize, 0)"
        )
        return found

    def checked(self) -> None:
        """Check labels, roles, contrast and the like with axe if it is installed, and that nothing is too wide."""
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if not AXE.exists():
            return
        if not self.page.evaluate("Boolean(globalThis.axe)"):
            self.page.evaluate(AXE.read_text())
        violations = self.page.evaluate(RUN)
        assert violations == [], violations

    def keep(self, folder: Path, name: str) -> None:
        """Keep a picture that people can look at."""
        folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(folder / f"{name}.png"), full_page=True)

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self.context.close()
        assert failed or not self.wrong, self.wrong


AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
RUN = """async () => {
  const { violations } = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
  });
  const said = (id) => (node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`;
  return violations.flatMap(({ id, nodes }) => nodes.map(said(id)));
}"""
