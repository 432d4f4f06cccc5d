"""Check the types of all examples of README and manual, as users would: mypy --strict and pyright.

python docs/check_types.py
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "examples"
ENGINES = ("bluesky", "gest")  # pages on engines of others, whose types refuse their own devices and settings


def examples() -> dict[str, str]:
    """Return the code of every page that has some, all its pieces together."""
    pages = {"README": (ROOT / "README.md", r"```python\n(.*?)```")}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.stem not in ENGINES:
            pages[f"{page.parent.name}_{page.stem}"] = page, r"```\{code-cell\}\n(.*?)```"
    code = {name: re.findall(mark, page.read_text("utf-8"), re.DOTALL) for name, (page, mark) in pages.items()}
    return {name: "\n\n".join(pieces) for name, pieces in code.items() if pieces}


def main() -> int:
    """Write the examples as files, have them checked, and return whether something is wrong."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for name, code in examples().items():
        (OUT / f"{name}.py").write_text(code, encoding="utf-8")
    (OUT / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}), encoding="utf-8")
    bin_ = Path(sys.executable).parent
    checks = [
        [str(bin_ / "mypy"), *map(str, sorted(OUT.glob("*.py")))],
        [str(bin_ / "pyright"), "--pythonpath", sys.executable, "--level", "error", "-p", str(OUT)],
    ]
    running = [subprocess.Popen(check, cwd=ROOT) for check in checks]
    return max([process.wait() for process in running])


if __name__ == "__main__":
    sys.exit(main())
