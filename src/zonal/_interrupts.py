"""Ctrl-C while the command line is being imported: one line and the exit code 130, as later on.

`zonal/__init__.py` imports this first. It changes nothing unless this process is the command `zonal`.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

INTERRUPTED = 130  # as shells report a program that was ended by SIGINT


def watch() -> None:
    """Have an interrupt before the command has begun end this process without a traceback."""
    program, before = os.path.basename(sys.argv[0] if sys.argv else ""), sys.excepthook
    as_module = ("-m", "zonal") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    if not as_module and program not in ("zonal", "zonal.exe", "zonal-script.py"):
        return

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)
            return
        sys.stderr.write("Error: interrupted.\n")
        raise SystemExit(INTERRUPTED)

    sys.excepthook = end


watch()
