"""Which region to recommend, where it lies, and how certain that is: see `Study.recommend`.

On the grid the policy picks a node. Elsewhere the candidates are a finite set: every allowed cell and windows
refined around the best, or windows of another size, or the user's own regions. Everything that is said of an
answer, its gap and its probability of being the best included, is about these, from joint draws of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from zonal._blas import one_thread
from zonal._types import Flags, Floats
from zonal.engine import confidence, policy
from zonal.engine.confidence import HELD, Standing
from zonal.engine.policy import tie, views
from zonal.engine.results import Recommendation, Source
from zonal.engine.state import State
from zonal.engine.stated import stated
from zonal.engine.windows import (
    MAX_COMPARED,
    Obstacles,
    Search,
    Windows,
    alike,
    answers_anywhere,
    best_cells,
    cells_of,
    joined,
    tiling,
    windows_of,
)
from zonal.errors import listed, require, truth, whole_number
from zonal.errors import probability as checked_probability
from zonal.gp.kernel_families import is_rough
from zonal.kernels.feedback import AnyFootprints, Footprints, footprints_of
from zonal.policies.base import best, candidates
from zonal.spaces import Region
from zonal.study import suspects
from zonal.study.discs import discs
from zonal.study.queries import NO_REGIONS, judged_region, tree_of

if TYPE_CHECKING:
    from zonal.study.study import Study

Size = float | Mapping[str, float]
ROUGH = "rough for its cells: trust the gap less"
MAY_STAND_OUT = "regions that were not measured may stand out: trust the gap less"
FEW_MEASURED = 10  # of the smallest regions of a space of members: nothing shows yet how far single ones stand out
GROWS = "noise may grow with the value: interval and gap allow for it"
WIDENED = 1.1  # times the search's standard deviation: from there on the answer says why
TAILS = 15.0  # degrees of freedom of members, and of pools without distances, that were not measured
TAILS_ALONE = 9.0  # of members without distances: nothing foresees them, and each is no average of many
MAX_CANDIDATES = 256  # of the user's own regions, or of discs, that are compared


_answered: WeakKeyDictionary[State, dict[int, Candidates]] = WeakKeyDictionary()


class Candidates(NamedTuple):
    """What is compared: nodes of the tree, unless `cells` is false, and regions outside the tree."""

    chosen: list[int]  # the answers, the best first: rows of the tree, then numbers of the others from its size on
    regions: dict[int, Region]  # of those answers that are not nodes
    others: AnyFootprints | None  # the regions outside the tree
    cells: bool = True
    near: int | None = None  # how many of the others the first answer is compared with; None for all


def recommend(
    study: Study,
    k: int | None,
    theta: float,
    on_grid: bool = False,
    size: Size | None = None,
    among: Sequence[Any] | None = None,
    disc: bool = False,
) -> list[Recommendation]:
    """Return the `k` best regions, the recommended one first: see `Study.recommend`."""
    number = 1 if k is None else whole_number(k, "the number of regions to recommend", 1)
    theta = checked_probability(theta, "theta")
    questions = {"on_grid": truth(on_grid, "on_grid"), "disc": truth(disc, "disc")}
    questions |= {"size": size is not None, "among": among is not None}
    asked = [name for name, is_asked in questions.items() if is_asked]
    require(len(asked) < 2, "on_grid, size, among and disc are different questions", asked, "Pass one of them.")

    def compared(state: State, number: int) -> Candidates:
        if among is not None:
            return _among(study, state, among, number)
        if size is not None:
            return _of_size(state, size, number)
        if disc:
            return _best_of(state, discs(state), number)
        if state is not study_state:  # of which nobody asks how certain it is
            return on_the_grid(state, number) if on_grid else anywhere(state, number, compares=False)
        return on_the_grid(state, number) if on_grid else _kept_answer(state, number)

    with study._lock, one_thread():
        study_state = study._state
        return _answers(study, study_state, compared(study_state, number), theta, compared)


def _kept_answer(state: State, number: int) -> Candidates:
    """Return the best regions at any position, searched for once in each state."""
    kept = _answered.setdefault(state, {})
    if number not in kept:
        kept[number] = anywhere(state, number)
    return kept[number]


def on_the_grid(state: State, number: int) -> Candidates:
    """Return the node that the policy recommends, and the next best ones."""
    return Candidates(confidence.ranking(state.posterior_table(), policy.recommend(state), number), {}, None)


def anywhere(state: State, number: int, compares: bool = True) -> Candidates:
    """Return the best regions of the smallest size at any position, if the policy answers so.

    With what they are compared is of use to those who ask how certain they are: `compares`.
    """
    first, tree = policy.recommend(state), state.posterior_table()
    if not (state.problem.policy.answers_anywhere and tree.smallest[first] and answers_anywhere(state)):
        return on_the_grid(state, number)
    rows, close = candidates(tree), tie(state)
    every = cells_of(state) if number > 1 else None
    obstacles, pick, starts = Obstacles.of(state), _Picked(state), best_cells(state)
    while len(pick.chosen) < number:
        free = rows if every is None else rows[Obstacles(state, pick.taken, None).clear(every)]
        cell = best(tree, free, tree.mean[free], close) if len(free) else -1
        search = Search(state, obstacles)
        search.compares = search.compares and compares
        windows, means = search.best(starts, cells=True)
        if len(means) and search.has_window and (cell < 0 or means[0] > tree.mean[cell] + close):
            obstacles = obstacles.beside(pick.window(search, windows, means, starts))
        elif cell >= 0:
            obstacles = obstacles.beside(pick.cell(cell, search, windows, means, starts))
        else:
            break
    return pick.candidates()


class _Picked:
    """The answers so far, and the windows that they are compared with.

    These are the first answer, if it is a window, and the windows near it; further answers come after them, so
    that what is said of the first one does not depend on how many are asked for.
    """

    def __init__(self, state: State) -> None:
        self._state, self._size = state, state.structure.size
        self.chosen: list[int] = []
        self.taken: list[Any] = []
        self._regions: dict[int, Region] = {}
        self._windows: list[Windows] = []
        self._near = 0

    def window(self, search: Search, windows: Windows, means: Floats, cells: Windows | None) -> Region:
        """Take the first of some windows."""
        region = search.region(windows, 0)
        row = self._size + sum(len(part.centers) for part in self._windows)
        self._windows.append(windows_of([region]))
        self._compare(search, windows.take(np.arange(1, len(means))), means[1:], self._windows[-1], cells)
        self._regions[row] = region
        return self._take(row, region)

    def cell(self, row: int, search: Search, windows: Windows, means: Floats, cells: Windows) -> Region:
        """Take a node."""
        region: Any = self._state.region(row)
        self._compare(search, windows, means, windows_of([region]), cells)
        return self._take(row, region)

    def _take(self, row: int, region: Region) -> Region:
        self.chosen.append(row)
        self.taken.append(region)
        return region

    def _compare(
        self, search: Search, windows: Windows, means: Floats, answer: Windows, cells: Windows | None
    ) -> None:
        """Keep the windows that answers are compared with; `cells` of the tree are candidates already."""
        if self.chosen:
            return
        best = windows.take(np.argsort(-means, kind="stable")[:MAX_COMPARED])
        listed_already = joined([answer, *self._windows, *([] if cells is None else [cells])])
        every = joined([best, search.rivals(answer, cells is not None)]) if search.compares else best
        self._windows.append(search.without(every, listed_already))
        self._near = sum(len(part.centers) for part in self._windows)

    def candidates(self, cells: bool = True) -> Candidates:
        """Return all that is compared."""
        windows = joined(self._windows)
        others = windows.footprints() if len(windows.centers) else None
        return Candidates(self.chosen, self._regions, others, cells, self._near)


def _of_size(state: State, size: Size, number: int) -> Candidates:
    """Return the best windows of another size."""
    problem, fix = "only a space with continuous axes has regions of any size", "Leave size= out."
    require(answers_anywhere(state), problem, size, fix)
    starts = tiling(state, size)
    obstacles, pick = Obstacles.of(state), _Picked(state)
    while len(pick.chosen) < number:
        search = Search(state, obstacles)
        windows, means = search.best(starts)
        if not len(means) or not search.has_window:
            break
        obstacles = obstacles.beside(pick.window(search, windows, means, None))
    require(pick.chosen, "no region of this size is allowed", size, "Pass a smaller size, or allow more.")
    return pick.candidates(cells=False)


def _among(study: Study, state: State, among: Sequence[Any], number: int) -> Candidates:
    """Return the best of the user's own regions."""
    regions = [judged_region(study, region) for region in listed(among, *NO_REGIONS)]
    require(regions, "there are no regions to choose from", among, "Pass some.")
    problem, fix = "these regions cannot be compared without a model", "Use a policy with a Gaussian belief."
    require(not state.problem.model_free, problem, "StoOO", fix)
    return _best_of(state, regions, number)


def _best_of(state: State, regions: Sequence[Region], number: int) -> Candidates:
    """Return the best of some regions that are allowed, disjoint ones, and the next best to compare them with."""
    obstacles = Obstacles.of(state)
    clear = [region for region in regions if not any(other.overlaps(region) for other in obstacles.regions)]
    means = state.belief.predict(footprints_of(clear, state.problem.target))[0] if clear else np.zeros(0)
    kept: list[Any] = []
    chosen: list[int] = []
    for at in np.argsort(-means, kind="stable").tolist():
        region: Any = clear[at]
        if len(kept) < MAX_CANDIDATES and obstacles.allows(region):
            if len(chosen) < number and not any(region.overlaps(kept[other]) for other in chosen):
                chosen.append(len(kept))
            kept.append(region)
    require(kept, "all of these regions are forbidden", len(regions), "Pass others, or allow them.")
    size, seen = state.structure.size, footprints_of(kept, state.problem.target)
    return Candidates([size + at for at in chosen], {size + at: kept[at] for at in chosen}, seen, cells=False)


def _answers(
    study: Study, state: State, compared: Candidates, theta: float, again: Callable[[State, int], Candidates]
) -> list[Recommendation]:
    """Return answers with their statements, in the user's units; `again` answers the same in another state."""
    table, unit, (wider, grows) = state.posterior_table(), study.settings.value_unit, stated(state)
    mean, std = dict(enumerate(tree_of(state).mean.tolist())), dict(enumerate(tree_of(wider).std.tolist()))
    for row, region in compared.regions.items():  # each alone, as its last digits may depend on the others
        centred, variance = wider.belief.predict(footprints_of([region], state.problem.target))
        mean[row] = state.problem.sign * (state.prior_mean + float(centred[0]))
        std[row] = math.sqrt(float(variance[0]))
        mean[row], std[row] = state.problem.stated_as_numbers(mean[row], std[row])

    @cache
    def standing_of_nodes() -> list[Standing]:
        rows, models = np.array(compared.chosen), views(wider, pending=False)
        return confidence.standings(wider.posterior_table(), models, rows, theta, None, *_unseen(state))

    def standing(rank: int) -> Standing:
        if state.problem.model_free:
            return Standing(math.nan, math.nan)
        with study._lock, one_thread():
            return (
                standing_of_nodes()[rank] if compared.others is None else _standing(wider, compared, rank, theta)
            )

    def hang(rank: int) -> tuple[Source, ...]:
        def regions(other: State) -> list[Region]:
            answers = again(other, rank + 1)
            return [_region(other, answers, row) for row in answers.chosen]

        if state.problem.model_free:
            return ()
        with study._lock:
            return tuple(suspects.hangs_on(state, regions))

    region = _region(state, compared, compared.chosen[0])
    widened = grows > HELD and std[compared.chosen[0]] > WIDENED * _std_of_search(state, region)
    answers, note = [], "; ".join(filter(None, [_caution(state), GROWS if widened else ""]))
    for rank, row in enumerate(compared.chosen):
        in_tree = row < table.size
        answers.append(
            Recommendation(
                region=_region(state, compared, row),
                node=table.node(row) if in_tree else None,
                mean=mean[row],
                std=std[row],
                _draw=partial(standing, rank),
                _hang=partial(hang, rank),
                unit=unit,
                note=note,
                likelihood=study.settings.likelihood,
            )
        )
    return answers


def _region(state: State, compared: Candidates, row: int) -> Region:
    return state.judged_region(row) if row < state.structure.size else compared.regions[row]


def _std_of_search(state: State, region: Region) -> float:
    """Return the standard deviation of a region's average as trials are chosen by it."""
    return math.sqrt(float(state.belief.predict(footprints_of([region], state.problem.target))[1][0]))


def _caution(state: State) -> str:
    """Return what to say where a learned model is rough, and most smallest regions were never measured.

    Of members large averages do not show whether single ones stand out, so it is said until some were measured.
    """
    if state.problem.model_free or state.problem.unknowns.given is not None:
        return ""
    belief = state.belief
    rough = belief.weights @ [is_rough(member.model.kernel) for member in belief.members]
    tree = state.posterior_table()
    observed = np.isin(state.measured_slots, state.ledger.data().slots)  # measured outside the study
    measured = int(np.count_nonzero(tree.smallest & (observed | (tree.count > 0))))
    of_members = state.problem.space.axes is None
    doubtful = rough > HELD or (of_members and measured < FEW_MEASURED)
    if not doubtful or 2 * measured >= _n_smallest(state):
        return ""
    return MAY_STAND_OUT if of_members else ROUGH


def _unseen(state: State) -> tuple[int, float]:
    """Return the number of smallest regions, and how heavy the tails of those are that were not measured.

    Where a model is learned of members, or of regions that have no distances, single ones stand out from all
    others as no normal distribution of them does: the pool with the motif, the county with the closed mine.
    """
    of_members, no_distances = state.problem.space.axes is None, all(state.problem.frame.symbols)
    tails = math.inf
    if state.problem.unknowns.given is None and (of_members or no_distances):
        tails = TAILS_ALONE if of_members and no_distances else TAILS
    return _n_smallest(state), tails


def _n_smallest(state: State) -> int:
    """Return the number of smallest regions, forbidden ones included."""
    return state.problem.space.partition.leaves(state.problem.bottom(state.h_max))


def _standing(state: State, compared: Candidates, rank: int, theta: float) -> Standing:
    """Return how one of the answers compares with all candidates; it does not depend on the number of answers."""
    tree, row = state.posterior_table(), compared.chosen[rank]
    if compared.near is not None and len(compared.chosen) > 1:
        assert isinstance(compared.others, Footprints)
        extents, near = compared.others.extents, compared.near
        if rank and row >= tree.size:
            extents = np.concatenate((extents[:, :near], extents[:, [row - tree.size]]), axis=1)
            region, row = compared.regions[row], tree.size + near
            compared = compared._replace(regions={**compared.regions, row: region})
        else:
            extents = extents[:, :near]
        compared = compared._replace(others=Footprints(extents))
    chosen = [compared.chosen[0], row] if rank else [row]
    return _standings_beside(state, compared._replace(chosen=chosen), theta)[-1]


def _standings_beside(state: State, compared: Candidates, theta: float) -> list[Standing]:
    """Return how answers compare with candidates of which some are outside the tree."""
    tree, rows = state.posterior_table(), np.array(compared.chosen)
    assert compared.others is not None
    keys = state.tracked.layout.keys(compared.others, register=False)
    models = views(state, pending=False, beside=keys)
    mean = np.sum([view.weight * view.mean[tree.size :] for view in models], axis=0)
    parts = [view.weight * (view.std[tree.size :] ** 2 + (view.mean[tree.size :] - mean) ** 2) for view in models]
    table = tree.with_windows(mean, np.sqrt(np.sum(parts, axis=0)))
    left_out = np.arange(table.size) < (0 if compared.cells else tree.size)
    left_out[[row for row in rows[1:] if row >= tree.size]] = True  # they are judged, and no rivals of the first
    near = None if compared.near is None else _alike(state, compared)
    return confidence.standings(table.without(left_out), models, rows, theta, near, *_unseen(state))


def _alike(state: State, compared: Candidates) -> Flags:
    """Tell which candidates are nearly the same as each answer: they overlap it by more than half."""
    assert isinstance(compared.others, Footprints)
    tree, windows = state.posterior_table(), Windows(*compared.others.extents)
    flags = np.zeros((len(compared.chosen), tree.size + len(windows.centers)), dtype=bool)
    rows, cells = candidates(tree), cells_of(state)
    for k, row in enumerate(compared.chosen):
        region: Any = state.region(row) if row < tree.size else compared.regions[row]
        answer = windows_of([region])
        flags[k, rows] = alike(state, cells, answer)
        flags[k, tree.size :] = alike(state, windows, answer)
    return flags
