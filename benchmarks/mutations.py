"""Deliberate faults, at least one in each room, each of which the tests must catch: `make mutations`.

    python -m benchmarks.mutations [NAME ...]

A fault is one change of one line in a copy of the repository. It counts as caught if the tests named beside it
fail with it; without any fault they pass (`make test`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Fault(NamedTuple):
    """What is changed where, and the tests that must notice."""

    file: str
    right: str
    wrong: str
    tests: str


FAULTS = {
    "ties go to nobody": Fault("policies/rules.py", "values[top] - tie", "values[top] + tie", "policies"),
    "M counts too many nodes": Fault(
        "policies/optimistic.py", "log_nodes(setting.counts[:-1])", "log_nodes(setting.counts)", "policies"
    ),
    "the envelope's breakpoints weigh the same": Fault(
        "policies/gain.py", "log_f(np.maximum(near, 0.0))", "log_f(0.0 * near)", "policies/test_gain.py"
    ),
    "a reward moves the mean too far": Fault(
        "beliefs/gp.py",
        "w = (reward - self.mean.item(slot)) / d",
        "w = (reward - self.mean.item(slot)) / own",
        "beliefs",
    ),
    "a node's prior variance is left as it is": Fault(
        "beliefs/gp.py", "variance = prior - np.add.reduce(v * v, 0)", "variance = 1.0 * prior", "beliefs"
    ),
    "repeats do not count": Fault(
        "beliefs/ledger.py",
        "noise**2 / self.counted, self",
        "noise**2 + 0 * self.counted, self",
        "beliefs spaces/test_beliefs.py",
    ),
    "contradictions are believed": Fault(
        "beliefs/mixture.py", "CONTRADICTION = 1e-6", "CONTRADICTION = 1e6", "rounds"
    ),
    "a point sees half an interval": Fault(
        "averages/profiles.py",
        "low, high = gap - wide / 2, gap + wide / 2",
        "low, high = gap, gap + wide / 2",
        "averages",
    ),
    "pairs are looked up at the wrong distance": Fault(
        "averages/layout.py", "lag -= theirs", "lag += theirs", "averages"
    ),
    "the ring does not close": Fault(
        "spaces/scales.py",
        "replace(factor, profile=wrapped(factor.profile, self.side / factor.lengthscale))",
        "factor",
        "spaces/test_rings.py",
    ),
    "arcs of the turn before do not overlap": Fault(
        "spaces/scales.py", "(-self.side, 0.0, self.side)", "(0.0, self.side)", "spaces/test_rings.py"
    ),
    "an index is turned the wrong way": Fault(
        "policies/rules.py", "reversed_digits(index, base, depth) / count", "index / count", "policies"
    ),
    "a smallest leaf may be split": Fault(
        "tree.py", "return self.leaf & ~self.smallest", "return self.leaf", "test_tree.py"
    ),
    "standard errors of own rewards": Fault(
        "tree.py", "np.sqrt(share * known)", "np.sqrt(known)", "test_tree.py policies"
    ),
    "a fourth failure bars a region": Fault(
        "rounds/decisions.py", "GIVE_UPS = 3", "GIVE_UPS = 4", "test_exhaustion.py test_allowing.py"
    ),
    "one measurement too many": Fault(
        "rounds/checks.py", "if number > remaining:", "if number > remaining + 1:", "rounds"
    ),
    "a damaged event is believed": Fault(
        "rounds/journal.py", "for part in parts]", "for part in parts[:1]]", "rounds/test_journal.py"
    ),
    "half as sure is sure enough": Fault(
        "rounds/certainty.py", "SURE, HELD = 0.9, 0.5", "SURE, HELD = 0.5, 0.5", "rounds test_reading.py"
    ),
    "beta without the rounds": Fault(
        "theory/bounds.py",
        "LOG_PI + 2 * math.log(t) - math",
        "LOG_PI + math.log(t) - math",
        "theory test_trajectory.py",
    ),
    "AVE-StoOO's beta": Fault(
        "theory/bounds.py", "4 * math.log(t) - 2", "2 * math.log(t) - 2", "theory test_trajectory.py"
    ),
    "delta a depth too low": Fault(
        "theory/delta.py", "self.c * self.rho**depth", "self.c * self.rho**(depth + 1)", "theory"
    ),
    "noise of the paper's functions": Fault(
        "problems/functions.py", "math.sqrt(0.005) if theirs", "0.005 if theirs", "problems paper"
    ),
    "noise per weight": Fault(
        "problems/instruments.py", "1 / math.sqrt(region.weight)", "1 / region.weight", "problems"
    ),
    "two thirds are kept": Fault(
        "driving/refine.py", "len(left) / 2)", "len(left) / 1.5)", "driving/test_refine.py"
    ),
    "lower values are better": Fault(
        "answers.py", "sign * limit - state.prior_mean", "limit - state.prior_mean", "test_reading.py rounds"
    ),
    "a decimal comma is no number": Fault(
        "tables/reading.py", 'return cell.replace(",", ".")', 'return cell.replace(",", "")', "tables"
    ),
    "any origin may come in": Fault("web/guard.py", "origin is not None and", "False and", "web/test_guard.py"),
    "bands half as wide": Fault(
        "plots/history.py",
        "mean - 2 * std, mean + 2 * std",
        "mean - std, mean + std",
        "plots/test_pictures.py plots/test_plots.py",
    ),
    "symbols of an axis in a shell": Fault(
        "tables/wording.py",
        'for symbol in text.split(",")]',
        'for symbol in text.split(";")]',
        "test_recipe.py tables commands",
    ),
    "a standard error without the root": Fault(
        "campaigns/rehearsal.py",
        "self.regrets.std(ddof=1)) / math.sqrt(runs)",
        "self.regrets.std(ddof=1)) / runs",
        "campaigns",
    ),
}


def caught(name: str) -> bool:
    """Return whether the tests fail with a fault."""
    fault = FAULTS[name]
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "zonal"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "results"))
        file = copy / "src" / "zonal" / fault.file
        text = file.read_text(encoding="utf-8")
        if text.count(fault.right) != 1:
            raise SystemExit(f"{name}: {fault.right!r} stands {text.count(fault.right)} times in {fault.file}")
        file.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        words += [f"tests/{tests}" for tests in fault.tests.split()]
        env = {**os.environ, "PYTHONPATH": str(copy / "src"), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        done = subprocess.run(
            words, cwd=copy, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(
        f"{'caught' if done.returncode == 1 else 'MISSED'}  {name}  {failed[0][:110] if failed else ''}",
        flush=True,
    )
    return done.returncode == 1


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(FAULTS)
    with ThreadPoolExecutor(2) as pool:
        missed = len(wanted) - sum(pool.map(caught, wanted))
    print(f"{len(wanted) - missed} of {len(wanted)} faults caught")
    sys.exit(bool(missed))
