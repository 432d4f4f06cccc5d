"""The command line, as a user types it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from shell import ENVIRONMENT, PROGRAM, SOURCE
from zonal.cli.main import main
from zonal.cli.options import plain_warnings


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(words))
    return result.exit_code, result.output


def test_the_demo_prints_what_it_found_and_writes_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "found.png"
    code, output = run("demo", "--out", str(picture))
    assert code == 0
    for word in ("region found", "true best average", "aggregated regret", "time of the search", str(picture)):
        assert word in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_the_demo_is_reproducible_and_its_regret_small(tmp_path: Path) -> None:
    words = ["demo", "--out", str(tmp_path / "a.svg"), "--seed", "3"]
    texts = [CliRunner().invoke(main, words).stdout for _ in range(2)]
    kept = [[line for line in text.splitlines() if "region found" in line or "regret" in line] for text in texts]
    assert kept[0] == kept[1]
    assert float(kept[0][1].split()[2]) < 0.1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["dmeo"], "demo"),
        (["demo", "--budget", "0"], "0"),
        (["demo", "--out", "picture.doc"], ".png"),
        (["demo", "--out", "nowhere/a.png"], "nowhere"),
    ],
)
def test_a_typo_gets_a_clear_error(words: list[str], complaint: str) -> None:
    code, output = run(*words)
    assert code == 2
    assert complaint in output
    assert "Traceback" not in output


def test_the_list_of_commands_says_what_each_does_within_eighty_columns() -> None:
    _, listed = run("--help")
    cut = [line for line in listed.splitlines() if line.endswith("...") and not line.startswith("Usage")]
    assert cut == []
    assert max(map(len, listed.splitlines())) <= 80


def test_help_gives_no_range_where_there_is_none() -> None:
    for name in main.commands:
        assert "None]" not in run(name, "--help")[1], name


def test_commands_are_listed_in_the_order_a_person_meets_them() -> None:
    shown = run("--help")[1].split("Commands:")[1]
    shown = shown.split("Exit codes:")[0]
    campaign = """new ask tell observe fail cancel forbid allow correct retract set-aside reinstate
        suspects recommend show why worth predict
        above below plot extend refit export import verify run report serve mcp"""
    listed = [line.split()[0] for line in shown.strip().splitlines()]
    assert listed == ["demo", *campaign.split(), "completion", "rehearse", "power"]


def test_the_names_of_the_package_are_those_it_is_for() -> None:
    import zonal as zn

    assert {name for name in dir(zn) if not name.startswith("__")} == set(zn.__all__)
    assert all(hasattr(zn, name) for name in dir(zn))


def test_help_and_version_are_there() -> None:
    assert "demo" in run("--help")[1]
    assert "0.1.0" in run("--version")[1]


@pytest.mark.parametrize("command", ["show", "verify", "new", "export"])
def test_ctrl_c_ends_any_command_with_130_and_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zonal.cli.options.Study.open", pressed)
    monkeypatch.setattr("zonal.cli.create.Study.create", pressed)
    more = ["--axis", "x=0..1", "--budget", "3"] if command == "new" else []
    code, output = run(command, str(tmp_path / "a.db"), *more)
    assert (code, output) == (130, "Error: interrupted.\n")


def test_ctrl_c_while_a_command_is_imported_shows_no_traceback(tmp_path: Path) -> None:
    """A scipy whose import is interrupted stands for Ctrl-C in that moment."""
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    script = tmp_path / "zonal"
    script.write_text("import sys\nfrom zonal.cli.main import main\nsys.exit(main())\n")
    env = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(tmp_path), SOURCE])}
    for words in ([*PROGRAM, "--version"], [sys.executable, str(script), "--version"]):
        done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
        assert (done.returncode, done.stderr) == (130, "Error: interrupted.\n"), words
    library = subprocess.run([sys.executable, "-c", "import zonal"], capture_output=True, text=True, env=env)
    assert "Traceback" in library.stderr  # it is not ours to hide


def test_what_a_library_has_deprecated_is_no_business_of_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    class Both(UserWarning, DeprecationWarning):
        """As pyparsing's, which matplotlib calls forth."""

    with plain_warnings():
        warnings.warn("one_of", Both, stacklevel=1)
        warnings.warn("the noise is odd", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: the noise is odd\n"
