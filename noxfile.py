#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The checks of the Makefile where there is no make: `pip install nox`, then `nox` or `nox -s tests`."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Search the paper's first function, and draw the result."""
    session.install("-e", ".")
    session.run("zonal", "demo")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, the direction of imports, and names."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("python", "tools/check_names.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests."""
    session.install("-e", ".[test]")
    environment = {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    session.run("pytest", "-n", "3", "--dist", "worksteal", *session.posargs, env=environment)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the manual, every example run, every warning an error."""
    session.install("-e", ".[dev,docs]")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-E", "-b", "html", "docs", "build/docs")


if __name__ == "__main__":
    nox.main()
