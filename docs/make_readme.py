"""Run the README's examples, renew what they print, its numbers and its pictures: `make readme`."""

from __future__ import annotations

import contextlib
import html
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
RIVALS = {  # of the arena's, those that a reader may know, and whether they bring torch
    "Zonal": "no",
    "BoTorch": "yes",
    "BoTorch, matched prior": "yes",
    "BoTorch over regions": "yes",
    "Optuna GP": "yes",
    "Optuna TPE": "no",
    "scipy DIRECT": "no",
    "PyXAB SequOOL": "no",
    "random": "no",
}
ASKED = ("zonal recommend core.db --size depth=3", "zonal why core.db")
TERMINAL = """<body style="margin: 0; background: #1c2128"><pre id="terminal" style="display: inline-block;
margin: 0; padding: 18px 24px; color: #d8dee6; font: 15px/1.5 'DejaVu Sans Mono', monospace">{}</pre></body>"""
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

    text = SHOWN.sub(renewed, text)
    return _filled(_filled(text, "arena", arena()), "reliability", reliability()), names


def _filled(text: str, mark: str, content: str) -> str:
    between = re.compile(f"(<!-- begin {mark} -->\n).*?(<!-- end {mark} -->)", re.DOTALL)
    return between.sub(lambda marks: f"{marks[1]}{content}{marks[2]}", text)


def arena() -> str:
    """Return the table that compares, from docs/arena.md: on the peer problems without f3, seconds on all."""
    page = (ROOT / "docs" / "arena.md").read_text(encoding="utf-8")
    peers, without = page.split("## The eight peer problems")[1].split(
        "Without f3, on which the default was designed:"
    )
    lines = ["|  | runs | mean regret | Zonal's over it | seconds | needs torch |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for name, torch in RIVALS.items():
        played, judged = _row(peers, name), _row(without, name)
        regret, ratio = judged["mean regret at 80"], judged["mean regret, ratio at 80"]
        cells = [name, played["runs"], regret, ratio, played["seconds"], torch]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def _row(text: str, name: str) -> dict[str, str]:
    """Return the row of a name in the first table of a text that has results, by the heads of its columns."""
    lines = [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line[:1] == "|"]
    head = next(number for number, line in enumerate(lines) if line[-1] and "80" in " ".join(line))
    row = next(line for line in lines[head:] if line[0] == name)
    return dict(zip(lines[head], row, strict=True))


def reliability() -> str:
    """Return the line of docs/reliability.md that speaks of all campaigns, in a sentence."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    line = re.search(r"^(\d+) campaigns.* (\d+)% held, of the gaps (\d+)%", page, re.MULTILINE)
    if line is None:
        raise ValueError("docs/reliability.md has no line on all campaigns")
    return (
        f"In {int(line[1]):,} campaigns with everything learned, {line[2]} of 100 intervals stated with a\n"
        f"probability of 90 % held, and {line[3]} of 100 statements that no region is better by more than a gap.\n"
    )


def _typed(session: str, folder: Path) -> str:
    """Return a session in a shell with what its commands print."""
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
        shell = _typed("".join(f"$ {command}\n" for command in ASKED), folder)
        page = browser.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=1.5)
        page.set_content(TERMINAL.format(html.escape(shell)))
        page.locator("#terminal").screenshot(path=images / "shell.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text, names = run(README.read_text(encoding="utf-8"), Path(made))
        README.write_text(text, encoding="utf-8")
        photograph(names, Path(made))
