"""Refuse names that say nothing: `own`, `one`, `found` and the like as variables, arguments and attributes.

``python tools/check_names.py`` checks src/ and reproduction/; ``--package cli web`` checks only these packages.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "zonal"
EMPTY = {"own", "one", "found", "known", "said", "made", "some", "each", "few", "here", "there"}


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module binds, with its line: variables, fields, arguments, attributes, functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def empty_names(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that bind an empty name, with or without underscores around it."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return sorted({(line, name) for line, name in bindings(tree) if name.strip("_") in EMPTY})


def files_of(package: str) -> list[Path]:
    """The modules of a package of the library, a module at its root, or those of a folder beside src."""
    for path in (LIBRARY / package, LIBRARY / f"{package}.py", ROOT / package):
        if path.exists():
            return sorted(path.rglob("*.py")) if path.is_dir() else [path]
    sys.exit(f"no package called {package!r} in src/zonal or beside src")


def main() -> int:
    """Print every empty name as file:line:name; return 1 if there is any."""
    parser = argparse.ArgumentParser(description="Refuse names that say nothing.")
    parser.add_argument("--package", nargs="+", default=["src", "reproduction"], metavar="NAME")
    paths = [path for package in parser.parse_args().package for path in files_of(package)]
    refused = [(path.relative_to(ROOT), line, name) for path in paths for line, name in empty_names(path)]
    for path, line, name in refused:
        print(f"{path}:{line}:{name}")
    if refused:
        print(f"{len(refused)} names that say nothing: name the thing they hold.", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
