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
    "ties go to nobody": Fault("policies/base.py", "values[top] - tie", "values[top] + tie", "policies"),
    "M counts too many nodes": Fault(
        "policies/gpoo.py", "log_nodes(context.counts[:-1])", "log_nodes(context.counts)", "policies"
    ),
    "the envelope's breakpoints weigh the same": Fault(
        "policies/gain.py", "log_f(np.maximum(near, 0.0))", "log_f(0.0 * near)", "policies/test_gain.py"
    ),
    "a reward moves the mean too far": Fault(
        "gp/posterior.py",
        "w = (reward - self.mean.item(slot)) / d",
        "w = (reward - self.mean.item(slot)) / predictive",
        "gp",
    ),
    "a node's prior variance is left as it is": Fault(
        "gp/posterior.py",
        "variance[part] = prior[part] - np.add.reduce(v * v, 0)",
        "variance[part] = prior[part]",
        "gp",
    ),
    "two branches write into one factor": Fault(
        "gp/posterior.py", "if self._written == part and shape", "if shape", "gp"
    ),
    "repeats do not count": Fault(
        "gp/stats.py",
        "noise**2 / self.counted, self",
        "noise**2 + 0 * self.counted, self",
        "gp spaces/test_beliefs.py",
    ),
    "contradictions are believed": Fault(
        "gp/model_average.py", "CONTRADICTION = 1e-5", "CONTRADICTION = 1e6", "engine storage"
    ),
    "a point sees half an interval": Fault(
        "kernels/stationary.py",
        "low, high = gap - wide / 2, gap + wide / 2",
        "low, high = gap, gap + wide / 2",
        "kernels",
    ),
    "a periodic profile is not resolved": Fault(
        "kernels/stationary.py", "RESOLVED = 1e-9", "RESOLVED = 1e-3", "kernels/test_profiles.py"
    ),
    "pairs are looked up at the wrong distance": Fault(
        "kernels/layout.py", "lag -= theirs", "lag += theirs", "kernels"
    ),
    "the ring does not close": Fault(
        "spaces/numeric_axes.py",
        "replace(factor, profile=wrapped(factor.profile, self.side / factor.lengthscale))",
        "factor",
        "spaces/test_rings.py",
    ),
    "arcs of the turn before do not overlap": Fault(
        "spaces/numeric_axes.py", "(-self.side, 0.0, self.side)", "(0.0, self.side)", "spaces/test_rings.py"
    ),
    "an index is turned the wrong way": Fault(
        "policies/base.py", "reversed_digits(index, base, depth) / count", "index / count", "policies"
    ),
    "a smallest leaf may be split": Fault(
        "tree.py", "return self.leaf & ~self.smallest", "return self.leaf", "test_tree.py"
    ),
    "standard errors of own rewards": Fault(
        "gp/stats.py",
        "left = share * variance\n    return mean, left",
        "left = variance\n    return mean, left",
        "gp policies/test_knowledge.py",
    ),
    "a fourth failure bars a region": Fault(
        "engine/commands.py", "MAX_FAILURES = 3", "MAX_FAILURES = 4", "test_exhaustion.py study/test_allowing.py"
    ),
    "one measurement too many": Fault(
        "engine/checks.py", "if number > remaining:", "if number > remaining + 1:", "engine storage"
    ),
    "a damaged event is believed": Fault(
        "storage/journal.py", "for part in parts]", "for part in parts[:1]]", "storage/test_journal.py"
    ),
    "half as sure is sure enough": Fault(
        "engine/confidence.py",
        "SURE, HELD = 0.9, 0.5",
        "SURE, HELD = 0.5, 0.5",
        "engine storage study/test_reading.py",
    ),
    "beta without the rounds": Fault(
        "policies/beta.py",
        "LOG_PI + 2 * math.log(t) - math",
        "LOG_PI + math.log(t) - math",
        "policies paper test_trajectory.py",
    ),
    "AVE-StoOO's beta": Fault(
        "policies/beta.py", "4 * math.log(whole", "2 * math.log(whole", "policies paper test_trajectory.py"
    ),
    "delta a depth too low": Fault(
        "policies/deltas.py", "self.c * self.rho**depth", "self.c * self.rho**(depth + 1)", "policies paper"
    ),
    "noise of the paper's functions": Fault(
        "simulation/functions.py", "math.sqrt(0.005) if theirs", "0.005 if theirs", "simulation paper"
    ),
    "noise per weight": Fault(
        "engine/noise.py", "1 / math.sqrt(region.weight)", "1 / region.weight", "simulation"
    ),
    "two thirds are kept": Fault(
        "study/point_search.py", "len(left) / 2)", "len(left) / 1.5)", "study/test_point_search.py"
    ),
    "lower values are better": Fault(
        "study/queries.py",
        "sign * value - state.prior_mean",
        "value - state.prior_mean",
        "policies/test_above.py",
    ),
    "a decimal comma is no number": Fault(
        "io/tables.py", 'return cell.replace(",", ".")', 'return cell.replace(",", "")', "input_output"
    ),
    "any origin may enter": Fault(
        "web/security.py", "origin is not None and", "False and", "web/test_security.py"
    ),
    "bands half as wide": Fault(
        "plotting/history.py",
        "mean - 2 * std, mean + 2 * std",
        "mean - std, mean + std",
        "plotting/test_pictures.py plotting/test_plots.py",
    ),
    "symbols of an axis in a shell": Fault(
        "io/recipe_text.py",
        'for symbol in text.split(",")]',
        'for symbol in text.split(";")]',
        "study/test_recipe.py input_output cli",
    ),
    "a standard error without the root": Fault(
        "simulation/rehearsal.py",
        "self.regrets.std(ddof=1)) / math.sqrt(runs)",
        "self.regrets.std(ddof=1)) / runs",
        "simulation",
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
