"""What all tests share: how many cases of a law are tried each time, and how seldom Python looks for rubbish."""

import gc
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

from effort import tries

# Whatever a busy machine takes; with a third of hypothesis's own number of examples but for `make torture`.
settings.register_profile("patient", deadline=None, max_examples=tries(33, 100))
settings.load_profile("patient")

HERE = Path(__file__).parent
FAILED = pytest.StashKey[bool]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import a share of the tests first, each worker another: it finds those of the others rewritten and compiled.

    In a fresh clone each would otherwise rewrite all of them, at the same time.
    """
    # Tests press Ctrl-C and hang up, which processes in the background of a shell, or under nohup, ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ending in signal.Signals:
        if ending.name in ("SIGHUP", "SIGQUIT"):  # Windows has neither
            signal.signal(ending, signal.SIG_DFL)
    worker = getattr(session.config, "workerinput", {"workerid": "gw0", "workercount": 1})
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    files = sorted(HERE.rglob("test_*.py")) if count > 1 else []
    for file in files[number * len(files) // count : (number + 1) * len(files) // count]:
        with suppress(
            Exception, pytest.skip.Exception
        ):  # is said again, and to whom it concerns, when they are collected
            import_module(".".join(file.relative_to(HERE.parent).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests marked `one_in(k)` keep every k-th case, of those marked `torture` none; `make torture` keeps all.

    With k prime to the number of values of each parameter, every value of every one is still met. Where there is
    one parameter alone, laws begin at different cases, so that each is met by some of them.
    """
    if os.environ.get("ZONAL_EVERY_LINE"):
        return
    families = Counter(item.nodeid.partition("[")[0] for item in items)
    met = Counter({name: crc32(name.encode()) for name, size in families.items() if size > 9})
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        left = item.get_closest_marker("torture") is not None
        if not left and (mark := item.get_closest_marker("one_in")) is not None:
            family = item.nodeid.partition("[")[0]
            left = bool(met[family] % mark.args[0])
            met[family] += 1
        (left_out if left else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note which tests failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Sweep up what a failed test left open: a warning of it would fail another test, which only came later."""
    done = yield
    if item.stash.get(FAILED, False):
        vars(sys).update(dict.fromkeys(("last_exc", "last_value", "last_traceback")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    return done


def pytest_collection_finish() -> None:
    """Spare the collector all that tests and libraries hold to the end: looking at it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
