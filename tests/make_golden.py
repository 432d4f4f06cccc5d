"""Make the files that every release of this format must open: ``python tests/make_golden.py`` when it is raised.

A name makes the file of that study alone. All are small studies in which everything has happened, with what a
later release must find in them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import zonal as zn
from eventful_studies import PRICES, lived, mended
from user_defined import Fine, MostUncertain, Rough, Tapered, own_delta, own_limit, own_noise
from zonal.study.export import exported

EXPORTED = "line", "hierarchy"
FOLDER = Path(__file__).parent / "data" / "golden"
RNG = np.random.default_rng(0)
STUDIES: dict[str, dict[str, Any]] = {
    "line": {"space": zn.Box([(0, 1)]), "rng": 1},
    "plane": {
        "space": zn.Box({"l": (-180, 180), "b": (-1, 1)}, arity=3, units={"l": "deg"}),
        "kernel": zn.RBF(1.0, (90.0, 0.5)) + zn.Matern(0.3, 40.0, nu=1.5),
        "noise": 0.1,
        "feedback": zn.Average(4),
        "policy": zn.GPOO(zn.GeometricDelta(2, 0.6), h_max=5),
        "direction": "minimize",
    },
    "dna": {"space": zn.Sequences("ACGT", 4), "kernel": zn.Categorical(1.0, 0.4), "noise": 0.1},
    "mixed": {
        "space": zn.Product({"x": (0, 1), "dye": ["red", "green"]}),
        "policy": zn.Thompson(level=3),
        "rng": 2,
    },
    "points": {
        "space": zn.Points({"dose": RNG.uniform(size=20), "hours": RNG.uniform(size=20)}, RNG.uniform(1, 2, 20)),
        "kernel": zn.RBF,
        "noise": zn.PerWeight(0.2),
    },
    "hierarchy": {
        "space": zn.Hierarchy({"North": {"Coast": ["Reef", "Bay"], "Inland": None}, "South": ["East", "West"]}),
        "policy": zn.StoOO(zn.GeometricDelta(1.0, 0.6)),
    },
    "ring": {
        "space": zn.Product({"l": (-180, 180), "dye": ["red", "green"]}, periodic=["l"], units={"l": "deg"}),
        "noise": 0.1,
        "forbidden": [{"l": (175, -175), "dye": "red"}],
        "rng": 6,
    },
    "costs": {"space": zn.Box([(0, 1)], smallest=1 / 32), "rng": 7, **PRICES, "times": [2]},
    "above": {
        "space": zn.Box({"x": (0, 4), "y": (0, 2)}, smallest=0.25),
        "policy": zn.Above(top=0.2),
        "cost": 1.5,
        "budget": 30.0,
        "rng": 8,
    },
    "motifs": {
        "space": zn.Sequences("AC", 4, frequencies=[0.7, 0.3]),
        "kernel": zn.Motif(1.0, lengths=[2]) + zn.Categorical(0.5, 0.4),
        "noise": 0.1,
    },
    "scales": {"space": zn.Box({"c": (1, 100), "n": (1, 9)}, scale={"c": "log", "n": "integer"}), "rng": 3},
    "signed": {"space": zn.Box({"x": (0, 1)}), "kernel": zn.RBF(1.0, 0.2), "noise": 0.1, "rng": 4},
    "corrected": {"space": zn.Box([(0, 1)], smallest=1 / 16), "direction": "minimize", "rng": 5},
}

USER_DEFINED: dict[str, dict[str, Any]] = {
    "classes": {
        "space": Fine([(0, 1)], smallest=1 / 16),
        "kernel": Rough(1.0, 0.2),
        "feedback": Tapered(),
        "policy": MostUncertain(level=3),
        "noise": 0.1,
    },
    "functions": {
        "space": zn.Box([(0, 1)], smallest=1 / 16),
        "kernel": zn.RBF(1.0, 0.2),
        "noise": own_noise,
        "policy": zn.GPOO(own_delta, h_max=4),
        "forbidden": own_limit,
    },
}
SEEN: dict[str, Any] = {"ring": [{"l": (170, -160)}, {"l": (100, 190), "dye": "red"}]}


def expected(study: zn.Study) -> dict[str, Any]:
    """Return what is to be found in a study, whichever release opens it."""
    return {
        "trials": [[record.number, *record.node, record.state, record.value] for record in study.trials],
        "observed": [[seen.region.name, seen.value, seen.sem] for seen in study.observations],
        "tree": [study.tree.depth.tolist(), study.tree.index.tolist(), study.tree.count.tolist()],
        "mean": study.tree.mean.tolist(),
        "std": [std if np.isfinite(std) else None for std in study.tree.std.tolist()],
        "budget": [study.budget, study.measured, study.remaining],
    } | ({"costs": [[record.time, record.cost] for record in study.trials]} if study.settings.priced else {})


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    studies = STUDIES | USER_DEFINED
    for name in sys.argv[1:] or studies:
        path = FOLDER / f"{name}.db"
        path.unlink(missing_ok=True)
        study = zn.Study.create(path, **{"budget": 16, **studies[name]})
        for region in SEEN.get(name, ()):
            study.observe(region, 0.4, sem=0.2)
        mended(lived(study, 7))
        if name == "signed":
            study.observe([(0, 0.5)], 0.3, sem=0.1, minus=[(0.5, 1)])
            study.tell(study.ask(), 0.2, sem=0.1, minus=[(0, 0.25)])
            study.observe([(0.25, 0.5)], -0.5, sem=0.2, feedback=zn.Slope("x"))
        path.with_suffix(".json").write_text(json.dumps(expected(study)))
        if name in EXPORTED:
            path.with_suffix(".jsonl").write_text(exported(study))
        print(path.name, path.stat().st_size, file=sys.stderr)


if __name__ == "__main__":
    main()
