"""Run the README's examples, put what they print below them, and take its pictures: `make readme`."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from zonal.cli.main import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
INSTRUMENT = """#!/bin/sh
awk -v low=$ZONAL_DEPTH_LOW -v high=$ZONAL_DEPTH_HIGH 'BEGIN { print exp(-(((low + high) / 2 - 21) / 4) ^ 2) }'
"""
CODE, SAID, TYPED = (
    r"```python\n(?P<code>.*?)```\n",
    r"(?:\n```text\n.*?```\n)?",
    r"```console\n(?P<typed>.*?)```\n",
)
SHOWN = re.compile(f"{CODE}{SAID}|{TYPED}", re.DOTALL)


def run(text: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the README as it is when its examples are run in a folder, and what they leave behind."""
    names: dict[str, Any] = {}

    def renewed(shown: re.Match[str]) -> str:
        if shown["typed"] is not None:
            return f"```console\n{_typed(shown['typed'], folder)}```\n"
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.chdir(folder):
            exec(compile(shown["code"], "README.md", "exec"), names)
        below = f"\n```text\n{_plain(said.getvalue())}```\n" if said.getvalue() else ""
        return f"```python\n{shown['code']}```\n{below}"

    return SHOWN.sub(renewed, text), names


def _typed(session: str, folder: Path) -> str:
    """Return a session in a shell with what its commands print."""
    (folder / "measure.sh").write_text(INSTRUMENT, encoding="utf-8")
    (folder / "measure.sh").chmod(0o755)
    written = ""
    with contextlib.chdir(folder):
        for line in re.findall(r"^\$ (.*)$", session, re.MULTILINE):
            done = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
            # On a terminal there is a progress bar instead, which is gone at the end.
            shown = re.sub(r"^\d{4}-\d\d-\d\d [\d:]{8}  .*\n", "", done.output, flags=re.MULTILINE)
            written += f"$ {line}\n{_plain(shown)}"
    return written


def _plain(said: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in said.splitlines())


def photograph(names: dict[str, Any], folder: Path) -> None:
    """Draw the first picture, and show the same search, three quarters done, in a browser."""
    sys.path.insert(0, str(ROOT / "tests"))
    from web.browser import chromium
    from web.server_process import serving

    images = ROOT / "docs" / "images"
    names["result"].study.plot().figure.savefig(images / "sky.png", dpi=110)
    study = names["zn"].Study.create(
        folder / "sky survey.db", names["sky"], budget=80, value_name="brightness", value_unit="K"
    )
    study.optimize(names["telescope"], n=60)
    study.ask(by="Ada")
    with serving(folder) as server, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(server.url("sky survey"))
        page.wait_for_selector("text=10 more measurements")
        page.screenshot(path=images / "page.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text, names = run(README.read_text(encoding="utf-8"), Path(made))
        README.write_text(text, encoding="utf-8")
        photograph(names, Path(made))
