"""Measurements for tests on worker processes, which find them here by name."""

import math
import os
import signal
import time
from pathlib import Path

import zonal as zn
from zonal.spaces import SubsetRegion

MEMBERS = 100_000


def wave(region: zn.Region) -> float:
    return math.sin(7 * float(region.center.sum()))


def leave(region: zn.Region) -> float:
    raise SystemExit(3)


def die_once(folder: Path, region: zn.Region) -> float:
    """Kill this process, the first time that node (4, 0) is measured."""
    if region.node == (4, 0):
        try:
            (folder / "died").touch(exist_ok=False)
        except FileExistsError:
            return wave(region)
        os.kill(os.getpid(), signal.SIGKILL)
    return wave(region)


def die(region: zn.Region) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def first_member(region: zn.Region) -> float:
    assert isinstance(region, SubsetRegion)
    assert region.space.size == MEMBERS
    return float(region.points[0, 0]) + len(region.members)


def process_and_time(region: zn.Region) -> float:
    time.sleep(0.01)
    return os.getpid() + (time.time_ns() % 10**9) / 1e9


def throw_at(error: BaseException, region: zn.Region) -> float:
    raise error
