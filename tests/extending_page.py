"""The classes of the page on extending, as a user would write them."""

import ast
import sys
from functools import cache
from types import ModuleType
from typing import Any

from test_manual import DOCS, cells

PAGE = DOCS / "manual" / "extending.md"
NAME = "page_on_extending"


@cache
def page() -> dict[str, Any]:
    """Return what the page defines, up to where it keeps studies in files; `test_manual` runs its searches."""
    module = sys.modules[NAME] = ModuleType(
        NAME
    )  # where dataclasses look up their types, and pickles their classes
    for number, code in enumerate(cells(PAGE)):
        if "disc.db" in code:
            break
        cell = ast.parse(code)
        searches = [one for one in cell.body if "imize(" in ast.unparse(one)]
        cell.body = [one for one in cell.body if one not in searches and not isinstance(one, ast.Expr)]
        exec(compile(cell, f"extending, cell {number}", "exec"), vars(module))
    return vars(module)


def found(base: type) -> list[type]:
    """Return the page's own classes of a kind."""
    own = [kind for kind in page().values() if isinstance(kind, type) and kind.__module__ == NAME]
    return [kind for kind in own if issubclass(kind, base)]


def cell_of(kind: type) -> str:
    """Return the cell of the page in which a class is, without what is done with it there."""
    code = next(own for own in cells(PAGE) if f"class {kind.__name__}(" in own)
    lines = code.splitlines()
    last = max(at for at, line in enumerate(lines) if line.startswith(("class ", "@", "from ", " ")))
    return "\n".join(lines[: last + 1])
