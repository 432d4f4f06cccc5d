"""Discs around members, and the best region of every size."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import zonal as zn
from zonal.errors import InvalidInput
from zonal.simulation import from_table
from zonal.study.discs import discs

RNG = np.random.default_rng(3)
PLACES, WEIGHTS = RNG.random((120, 2)), RNG.uniform(0.5, 2.0, 120)


def members() -> Any:
    """Return points with weights."""
    return zn.Points({"lon": PLACES[:, 0], "lat": PLACES[:, 1]}, WEIGHTS, smallest=6.0)


def searched(space: Any) -> zn.Study:
    """Return a study of a bump in the middle."""
    values = np.exp(-((PLACES - 0.5) ** 2).sum(axis=1) / 0.03)
    study = zn.Study(space, budget=40, kernel=zn.RBF(1.0, 0.15), noise=0.02, rng=0)
    study.optimize(from_table(space, values).simulate(0.02, 0))
    return study


def test_a_disc_has_the_nearest_members_and_at_least_the_smallest_weight() -> None:
    study = searched(members())
    every = discs(study._state)
    assert 60 < len(every) <= 120
    for disc in every:
        inside = PLACES[disc.members]
        assert disc.weight >= 6
        far = np.linalg.norm(inside[:, None] - inside[None], axis=2)
        center = min(
            range(len(inside)),
            key=lambda at: np.count_nonzero(np.linalg.norm(PLACES - inside[at], axis=1) <= far[at].max() + 1e-12),
        )
        reach = far[center].max()
        nearer = np.flatnonzero(np.linalg.norm(PLACES - inside[center], axis=1) <= reach + 1e-12)
        assert set(nearer) == set(disc.members.tolist())


def test_the_best_disc_is_the_best_of_all_and_better_than_the_trees_region() -> None:
    study = searched(members())
    best = study.recommend(disc=True)
    every = discs(study._state)
    assert best.mean == pytest.approx(study.predict(list(every)).mean.max())
    assert best.mean > study.recommend().mean
    assert best.node is None
    assert 0 <= best.probability_best <= 1
    first, second = study.recommend(k=2, disc=True)
    assert first == best
    assert not first.region.overlaps(second.region)
    study.forbid([int(row) for row in best.region.members[:1]])  # type: ignore[attr-defined]
    assert not set(best.region.members[:1]) & set(study.recommend(disc=True).region.members)  # type: ignore[attr-defined]


def test_areas_with_coordinates_have_discs_too_and_their_members_are_drawn() -> None:
    names = {"state": [f"s{int(4 * x)}" for x in PLACES[:, 0]], "area": [f"a{at}" for at in range(120)]}
    space = zn.Hierarchy.from_table(names, PLACES, WEIGHTS, 6.0, ("lon", "lat"))
    study = searched(space)
    best = study.recommend(disc=True)
    assert len({name[:2] for name in best.region.as_dict()}) >= 1
    ax = study.plot("map", disc=True)
    rings = next(drawn for drawn in ax.collections if drawn.get_label() == "best disc")
    assert len(rings.get_offsets()) == len(best.region.members)  # type: ignore[attr-defined,arg-type]
    plt.close("all")


@pytest.mark.parametrize("space", [zn.Box([(0, 1)]), zn.Hierarchy({"a": ["b", "c"], "d": ["e", "f"]})])
def test_other_spaces_have_no_discs(space: Any) -> None:
    study = zn.Study(space, budget=3, noise=0.1)
    with pytest.raises(InvalidInput, match="coordinates"):
        study.recommend(disc=True)


def test_sizes_go_from_the_smallest_to_the_whole_and_the_best_average_falls() -> None:
    space = zn.Box(
        {"l": (0, 8), "n": (1, 16)}, smallest={"l": 1, "n": 2}, scale={"n": "integer"}, units={"l": "deg"}
    )
    study = zn.Study(space, budget=30, kernel=zn.RBF(1.0, (2.0, 4.0)), noise=0.01, value_unit="K", rng=0)
    study.optimize(lambda region: float(np.exp(-(((region.center - [3.3, 7]) / [1.5, 3]) ** 2).sum())))
    table = study.sizes()
    widths, means = np.array(table["size l [deg]"], dtype=float), np.array(table["mean [K]"], dtype=float)
    assert widths[0] == 1
    assert widths[-1] == 8
    assert table["size n [numbers]"][0] == 2
    assert table["size n [numbers]"][-1] == 16
    assert (np.diff(means) < 1e-9).all()
    assert table["lost [K]"][0] == 0
    assert means[0] == pytest.approx(study.recommend().mean, abs=2e-3)
    assert table["region"][-1] == "l 0..8 deg, n 1..16"
    ax = study.plot("sizes")
    assert ax.get_xlabel().startswith("size along l")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), means)  # type: ignore[arg-type]
    plt.close("all")


def test_minimising_loses_upwards() -> None:
    study = zn.Study(
        zn.Box([(0, 1)], smallest=0.25), budget=12, kernel=zn.RBF(1.0, 0.2), noise=0.01, direction="minimize"
    )
    study.optimize(lambda region: float((region.center[0] - 0.4) ** 2))
    lost = np.array(study.sizes()["lost"], dtype=float)
    assert lost[0] == 0
    assert (np.diff(lost) > -1e-9).all()


def test_members_have_no_sizes() -> None:
    with pytest.raises(InvalidInput, match="continuous axes"):
        searched(members()).sizes()


def test_the_map_has_the_cell_dashed_and_the_window_solid(tmp_path: Path) -> None:
    space = zn.Box({"l": (-180, 180), "b": (0, 4)}, smallest=[45, 1], periodic=["l"])
    study = zn.Study(space, budget=20, kernel=zn.RBF(1.0, (40.0, 1.0)), noise=0.01, rng=0)

    def value(region: Any) -> float:
        away = min(abs(region.center[0] - 180), abs(region.center[0] + 180))
        return float(np.exp(-((away / 60) ** 2) - (region.center[1] - 2.2) ** 2))

    study.optimize(value)
    best = study.recommend()
    assert best.region.bounds[0, 1] > 180
    ax = study.plot()
    patches = {patch.get_label(): patch for patch in ax.patches}
    assert {"region found", "best cell"} <= set(patches)
    edges = patches["region found"].get_path().vertices
    assert np.asarray(edges)[:, 0].max() <= 180 + 1e-9  # two pieces, on both sides of the cut
    assert np.asarray(edges)[:, 0].min() == -180
    assert patches["best cell"].get_linestyle() != patches["region found"].get_linestyle()
    plt.close("all")
    study.report(tmp_path / "report.html")
    assert best.region.name in (tmp_path / "report.html").read_text()
