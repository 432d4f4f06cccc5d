"""A search with numbered trials, a budget and the user's units.

The study is the boundary: it checks what comes in, turns the user's values (any unit, minimised or maximised,
any prior mean) into rewards counted from the prior mean, and turns what goes out back. Every check comes
before the first change, so that an error leaves the study as it was.
"""

from __future__ import annotations

import copy
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonal.beliefs.fit import Model, Spec, Unknowns
from zonal.beliefs.lattice import Weighted
from zonal.certainty import Outlook
from zonal.errors import (
    LARGEST_STD,
    BudgetSpent,
    InvalidInput,
    finite_number,
    positive_number,
    probability,
    random_generator,
    standard_deviation,
    whole_number,
)
from zonal.feedback import Average, Feedback, Mean
from zonal.kernels import Categorical, Kernel, ProductKernel, custom
from zonal.policies import Policy
from zonal.policies.knowledge import KnowledgeGradient
from zonal.refine import MeasurePoint, PointResult, sequential_halving
from zonal.run import ENOUGH, Callback, Measure, drive
from zonal.search import Noise, Search
from zonal.spaces import Box, Interval, MemberSpace, Product, Region, Sequences, with_feedback
from zonal.tree import TreeTable
from zonal.trials import (
    Bands,
    Likely,
    Outcome,
    Prediction,
    Recommendation,
    Result,
    Trial,
    TrialBook,
    TrialRecord,
)

log = logging.getLogger("zonal")

CLEAR = 2.0  # standard deviations
JUDGE = 10  # measurements after the opening sweep, before a learned model says that it is enough
TRIED = 200  # points on which a kernel is tried out
GIVE_UPS = 3  # in a row, after which a region counts as impossible to measure
AnySpace = Box | Product | Sequences | MemberSpace
SpaceLike = AnySpace | Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]


class Study:
    """A search for the region of the highest average, in memory.

    Parameters
    ----------
    space : Box, Sequences, Product, Points or Hierarchy, or bounds for a box
        Where to look.
    budget : int
        How many measurements may be made.
    kernel : Kernel, kernel class, callable or None
        How values of f at two points go together. A class has its parameters learned; None learns the smoothness
        too (for symbols `Categorical`). On `Points` and `Hierarchy` also any positive semi-definite function of
        features, (n, d) and (m, d) to (n, m).
    noise : float, callable or None
        Standard deviation of one measurement, or a function of the region (see `PerWeight`); None to learn it.
    mean : float, optional
        Prior mean of f; by default 0 if a kernel is given, else learned.
    feedback : Center, Average or Mean
        What a measurement sees of a region; by default its exact mean.
    policy : Policy, optional
        Which region to measure next; by default `KnowledgeGradient`.
    rng : int or Generator, optional
        For policies that draw random numbers; GPOO draws none.
    direction : {"maximize", "minimize"}
        Whether high or low averages are wanted.
    max_looks : int, optional
        The most measurements of one region.
    forbidden : callable, optional
        A function of a region: where it returns True the region is neither measured nor recommended, and its
        children are tried.
    value_name, value_unit : str
        What is measured, for tables and pictures.

    Examples
    --------
    >>> import zonal as zn
    >>> study = zn.Study([(0, 1)], budget=3, kernel=zn.RBF(1.0, 0.2), noise=0.1)
    >>> trial = study.ask()
    >>> trial.region.name
    'x 0..0.5'
    >>> study.tell(trial, 0.7)
    >>> float(study.recommend().region.widths[0])  # the smallest size: 256 of them to an axis
    0.00390625
    """

    def __init__(
        self,
        space: SpaceLike,
        *,
        budget: int,
        kernel: Spec | Callable[..., Any] = None,
        noise: Noise | None = None,
        mean: float | None = None,
        feedback: Feedback | None = None,
        policy: Policy | None = None,
        rng: int | np.random.Generator | None = None,
        direction: Literal["maximize", "minimize"] = "maximize",
        max_looks: int | None = None,
        forbidden: Callable[[Region], bool] | None = None,
        value_name: str = "value",
        value_unit: str = "",
    ) -> None:
        self.space: Any = space if isinstance(space, AnySpace) else Box(space)
        self.budget = whole_number(budget, "budget", 1)
        if policy is not None and (isinstance(policy, type) or not hasattr(policy, "bind")):
            raise InvalidInput("policy must be a policy", policy, "Pass for example zn.GPOO().")
        if policy is None:
            policy = KnowledgeGradient()
        family = isinstance(kernel, type) and issubclass(kernel, ProductKernel | Categorical)
        spec: Any = kernel
        if callable(kernel) and isinstance(self.space, MemberSpace) and not isinstance(kernel, type | Kernel):
            spec = custom(kernel, self.space.features[:: -(-self.space.size // TRIED)])
        if not (spec is None or family or isinstance(spec, Kernel)):
            raise InvalidInput(
                "kernel must be a kernel, a kernel class or None",
                kernel,
                "Pass for example zn.RBF(variance=0.1, lengthscale=0.05), or zn.RBF to have it learned.",
            )
        if noise is not None and not callable(noise):
            noise = standard_deviation(noise, "noise")
        if direction not in ("maximize", "minimize"):
            raise InvalidInput("direction must be 'maximize' or 'minimize'", direction, "Choose one of the two.")
        if feedback is not None and not isinstance(feedback, Feedback):
            raise InvalidInput("feedback must be Center(), Average(s) or Mean()", feedback, "Pass one.")
        if max_looks is not None:
            max_looks = whole_number(max_looks, "max_looks", 1)
        self.feedback = Mean() if feedback is None else feedback
        self.feedback.check(self.space)
        self.direction = direction
        self.rng = random_generator(rng)
        self.value_name = value_name
        self.value_unit = value_unit
        self._sign = 1.0 if direction == "maximize" else -1.0
        if mean is not None:
            mean = self._sign * finite_number(mean, "mean")
        elif isinstance(spec, Kernel) or policy.empirical:
            mean = 0.0
        self._search = Search(
            self.space,
            Unknowns(spec, noise is None, mean),
            noise,
            self.feedback,
            policy,
            budget=self.budget,
            max_looks=max_looks,
            rng=self.rng,
            forbidden=forbidden,
        )
        self._policy = policy
        self._book = TrialBook()
        self._failures: dict[int, int] = {}  # give-ups in a row, by row

    @property
    def told(self) -> int:
        """Trials told."""
        return self._book.told

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told or given up, oldest first."""
        return self._book.pending()

    @property
    def remaining(self) -> int:
        """Measurements that may still be asked for."""
        return self.budget - self._book.begun

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far and what became of them."""
        return self._book.records()

    @property
    def prior_mean(self) -> float:
        """The prior mean of f, as given or learned."""
        return self._sign * self._search.prior_mean

    @property
    def model(self) -> Model:
        """The kernel, noise and prior mean in use, as given or learned, and how well they are known."""
        model = self._search.model
        if model is None:
            raise InvalidInput("the empirical belief has no model", "StoOO", "Use a policy such as GPOO.")
        return replace(model, mean=self._sign * model.mean)

    @property
    def models(self) -> tuple[Weighted, ...]:
        """The weighted models that stand for all the measurements allow; one if the model was given."""
        return tuple(
            Weighted(own.weight, replace(own.model, mean=self._sign * own.model.mean))
            for own in self._search.models
        )

    @property
    def tree(self) -> TreeTable:
        """The tree now, as read-only arrays; means and stds are of told measurements only."""
        return self._search.tree.snapshot(self.prior_mean, self._sign)

    @overload
    def ask(self, n: None = None) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of the next `n`.

        Trials under way are taken into account: they narrow the uncertainty where they look.
        """
        number = 1 if n is None else whole_number(n, "the number of trials to ask for", 1)
        if number > self.remaining:
            raise BudgetSpent(
                f"{number} more asked for, but of the budget of {self.budget} {self.told} are told and "
                f"{len(self.pending)} under way, so {self.remaining} remain. Call extend(n) for more."
            )
        # Where regions may run out half-way, a copy lets a batch be all or nothing.
        before = copy.deepcopy(self._search) if number > 1 and self._search.limited else None
        batch: list[Trial] = []
        try:
            for _ in range(number):
                batch.append(self._ask())
        except BaseException:
            for _, row in reversed([self._book.under_way(trial) for trial in batch]):
                self._search.end(row)
            self._book.forget(len(batch))
            self._search = before or self._search
            raise
        return batch[0] if n is None else batch

    def _ask(self) -> Trial:
        search = self._search
        row = search.choose(self._book.begun + 1)
        region = search.regions[row]
        trial = self._book.ask(row, region, int(search.tree.looks[row]) + 1)
        search.begin(row)
        return trial

    def tell(self, trial: Trial | int, value: float, sem: float | None = None, note: str = "") -> None:
        """Take in the measurement of a trial.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        value : float
            The measured average.
        sem : float, optional
            Standard error of this one measurement; the study's noise by default.
        note : str
            Kept with the trial.
        """
        number, row = self._book.under_way(trial)
        reward, spread = self._reward(value, sem)
        self._search.tell(row, reward, spread, self.told + 1, last=self.told + 1 == self.budget)
        self._failures.pop(row, None)
        self._book.end(number, Outcome("told", float(value), spread, note))
        self._search.prepare(self._book.begun + 1)
        self._speak()

    def give_up(self, trial: Trial | int, retry: bool = True) -> None:
        """Take back a trial that could not be measured; the budget gets it back.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        retry : bool
            Whether the region may be asked for again. With False it never is; its children are, if it may be
            split. A region given up three times in a row counts as impossible to measure all the same.
        """
        number, row = self._book.under_way(trial)
        failures = self._failures.get(row, 0) + 1
        if not retry or failures >= GIVE_UPS:
            self._search.bar(row)
            if retry and failures == GIVE_UPS:
                log.warning(
                    "region %s was given up %d times in a row and will not be asked for again",
                    self._search.regions[row].name,
                    failures,
                )
        self._failures[row] = failures
        self._search.end(row)
        self._book.end(number, Outcome("given up"))

    def withdraw(self, trial: Trial | int) -> None:
        """Take back a trial that was not tried; the budget gets it back and nothing is held against its region.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        """
        number, row = self._book.under_way(trial)
        self._search.end(row)
        self._book.end(number, Outcome("given up"))

    def observe(self, region: Region | ArrayLike, value: float, sem: float | None = None) -> None:
        """Take in an earlier or outside measurement of any region; it costs no budget.

        Parameters
        ----------
        region : Region, or what ``space.region`` takes
            A region of this space, in the tree or not: bounds of shape (d, 2) in a box, text such as
            ``"ATNNNNNN"`` for sequences, a name for a hierarchy, row numbers for points, a mapping of axes to
            parts.
        value : float
            Its measured average, seen by the study's own feedback.
        sem : float, optional
            Standard error of this measurement; the study's noise by default.
        """
        seen = self._region(region)
        reward, spread = self._reward(value, sem)
        self._search.observe(seen, reward, spread)
        self._search.prepare(self._book.begun + 1)
        self._speak()

    @overload
    def recommend(self, k: None = None, *, theta: float = 0.1) -> Recommendation: ...
    @overload
    def recommend(self, k: int, *, theta: float = 0.1) -> list[Recommendation]: ...
    def recommend(self, k: int | None = None, *, theta: float = 0.1) -> Recommendation | list[Recommendation]:
        """Return the region to settle for now, or a list of the `k` best, and how sure that is.

        Parameters
        ----------
        k : int, optional
            How many disjoint regions; fewer are returned where no more are known.
        theta : float
            ``gap`` holds with probability 1 - theta, under the model.
        """
        number = 1 if k is None else whole_number(k, "the number of regions to recommend", 1)
        probability(theta, "theta")
        rows = self._search.ranking(number)
        standings = self._search.standings(rows, theta)
        found = [self._recommendation(row, *standing) for row, standing in zip(rows, standings, strict=True)]
        return found[0] if k is None else found

    def _recommendation(self, row: int, gap: float, best: float) -> Recommendation:
        region, tree = self._search.regions[row], self._search.tree
        assert region.node is not None
        mean = self.prior_mean + self._sign * float(tree.mean[row])
        return Recommendation(region, region.node, mean, float(tree.std[row]), gap, best)

    def outlook(self, n: int) -> Outlook:
        """Return by how much `n` more measurements are expected to improve the recommended region's true average.

        Measurements are planned at once and played on draws from the posterior. A search that learns on the way
        does at least as well, so for many measurements this is a cautious figure; it holds under the model.

        Parameters
        ----------
        n : int
            How many more; the budget does not matter.
        """
        number = whole_number(n, "the number of measurements", 1)
        return self._search.outlook(number, self._book.begun + 1)

    def above(self, threshold: float, probability: float = 0.9) -> list[Likely]:
        """Return the regions of the smallest size whose average exceeds a threshold, the likeliest first.

        Parameters
        ----------
        threshold : float
            In value units.
        probability : float
            How probable it must be, under the model.
        """
        return self._beyond(threshold, probability, 1.0)

    def below(self, threshold: float, probability: float = 0.9) -> list[Likely]:
        """Return the regions of the smallest size whose average is below a threshold, as `above` does."""
        return self._beyond(threshold, probability, -1.0)

    def _beyond(self, threshold: float, wanted: float, side: float) -> list[Likely]:
        probability(wanted, "probability")
        limit = self._sign * (finite_number(threshold, "threshold") - self.prior_mean)
        rows, chance = self._search.exceeding(limit)
        chance = chance if side == self._sign else 1 - chance
        regions, tree = self._search.regions, self._search.tree
        return [
            Likely(
                regions[int(rows[at])],
                self.prior_mean + self._sign * float(tree.mean[rows[at]]),
                float(tree.std[rows[at]]),
                float(chance[at]),
            )
            for at in np.argsort(-chance, kind="stable")
            if chance[at] >= wanted
        ]

    def refit(self) -> bool:
        """Learn the model anew from all measurements, if anything is learned and any came in since the last fit.

        Studies do this by themselves, often, and always when the budget is spent. Returns whether anything was
        learned.
        """
        learned = self._search.refit()
        self._speak()
        return learned

    def stands_out(self) -> bool:
        """Tell whether the recommended region is better than the space on average, beyond chance.

        Its average must exceed that of the whole space by more standard deviations than the best of as many
        regions as were measured would by luck: sqrt(2 log n), and two at least; more while the noise, if learned,
        is not well known.
        """
        best, whole, model = self._search.recommend(), 0, self._search.model
        unsure = 0.0 if model is None else model.spread.get("noise", 0.0)
        if best == whole or not self._search.has_scale():
            return False
        measured = int(np.count_nonzero(self._search.tree.count))
        luck = math.sqrt(2 * math.log(max(measured, 1)))
        return self._search.advantage(best, whole) > max(CLEAR, luck) * (1 + unsure)

    def predict(self, regions: Region | Sequence[Region | ArrayLike] | ArrayLike) -> Prediction:
        """Return posterior mean and standard deviation of any regions' averages.

        Parameters
        ----------
        regions : Region, what ``space.region`` takes (see `observe`), or several of these
            Edges that are equal mean a point on that axis; a list of texts means several regions.

        Returns
        -------
        Prediction
            ``mean`` and ``std``: numbers for one region, arrays for several.
        """
        if isinstance(regions, Iterator):
            regions = list(regions)
        one = self.space.is_one(regions)
        several: list[Any] = [regions] if one else list(regions)  # type: ignore[arg-type]
        listed = [self._region(region) for region in several]
        if not listed:
            return Prediction(np.zeros(0), np.zeros(0))
        centred, std = self._search.predict(listed)
        mean = self.prior_mean + self._sign * centred
        return Prediction(float(mean[0]), float(std[0])) if one else Prediction(mean, std)

    def bands(self) -> Bands:
        """Return how far each node's average, and f within the node, may lie from the posterior mean.

        The b-value by which the next trial is chosen is ``mean + confidence + variation`` (equation 5 of the
        paper).
        """
        return Bands(*self._search.bands(self.told + 1))

    def extend(self, n: int) -> None:
        """Add `n` measurements to the budget."""
        self.budget += whole_number(n, "the number of measurements to add", 1)

    def optimize(
        self,
        measure: Measure,
        executor: Executor | None = None,
        *,
        workers: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        tolerance: float | None = None,
    ) -> Result:
        """Ask, measure and tell until the budget is spent, or the answer is good enough.

        Parameters
        ----------
        measure : callable
            Region to value. If it raises, its trial is given up and the error is passed on; the study can go
            on afterwards.
        executor : concurrent.futures.Executor, optional
            Where to measure several regions at once.
        workers : int, optional
            How many at once; by default as many as the executor has workers.
        callback : callable, optional
            Called with the study and the trial after each measurement; raise StopIteration to stop.
        progress : bool
            Show a progress bar.
        tolerance : float, optional
            In value units: stop early once the gap of the recommended region is no larger, twice in a row; while a
            model is learned not before the opening sweep and ten more.

        Returns
        -------
        Result
            With ``success=False`` after Ctrl-C or a stop by the callback.
        """
        enough = None if tolerance is None else _Enough(self, positive_number(tolerance, "tolerance"))
        why = drive(
            self, measure, executor=executor, workers=workers, callback=callback, progress=progress, enough=enough
        )
        reached = enough is not None and why == ENOUGH
        if reached:
            self.refit()
        found = self.recommend()
        message = f"{self.told} of {self.budget} measurements made"
        if reached:
            message = f"the gap is {found.gap:.3g}, within the tolerance of {tolerance:g}; {message}"
        else:
            message = f"{why}; {message}" if why else f"the budget is spent: {message}"
        if not self.stands_out():
            message += "; no region stands out"
        message += self._smallest_note()
        return Result(
            region=found.region,
            x=found.region.center,
            mean=found.mean,
            std=found.std,
            gap=found.gap,
            probability_best=found.probability_best,
            nfev=self.told,
            success=reached or (not why and self.told == self.budget),
            message=message,
            study=self,
        )

    def _smallest_note(self) -> str:
        """Return what the policy took for the smallest size, where the space names none."""
        if not isinstance(self._policy, KnowledgeGradient) or self.space.deepest() is not None:
            return ""
        depth = self._search.depth
        lines = [j for j, axis in enumerate(self.space.axes) if isinstance(axis, Interval)]
        parts = {self.space.arity ** self.space.splits(j, depth) for j in lines}
        shown = " or ".join(str(number) for number in sorted(parts))
        return f"; the space names no smallest region, so {shown} parts of an axis were taken"

    def _good_enough(self, tolerance: float) -> bool:
        """Tell whether the recommended region is known to be good enough; a learned model has to see some more."""
        if not self._search.opened or (self._search.learned and self.told < self._search.opening_size + JUDGE):
            return False
        return self.recommend().gap <= tolerance

    def refine(
        self,
        measure_point: MeasurePoint,
        budget: int,
        *,
        noise: float | None = None,
        points: ArrayLike | None = None,
    ) -> PointResult:
        """Find a good point within the recommended region, by measuring points.

        Sequential halving over the region's representative points, starting from what the study knows of f there
        (the remark under Definition 2 of the paper). The study itself does not change.

        Parameters
        ----------
        measure_point : callable
            Point, shape (d,), to value.
        budget : int
            Point measurements; with fewer than points, those of the lowest posterior means are dropped first.
        noise : float, optional
            Standard deviation of one point measurement; the study's noise by default, if it is a number.
        points : array_like, shape (n, d), optional
            Candidates; by default the region's representative points, for an exact `Mean` a grid of points.

        Returns
        -------
        PointResult
            The point, with posterior mean and standard deviation of f there.
        """
        if not isinstance(self.space, Box):
            raise InvalidInput(
                "points are refined within a box",
                self.space,
                "Members and sequences are regions themselves: extend the study, or raise the policy's h_max.",
            )
        region = self.recommend().region
        if points is None:
            points = region.points if self.feedback.grid is not None else _spread(region)
        candidates = np.array(points, dtype=float) if np.ndim(points) == 2 else np.zeros((0, 0))
        if candidates.shape[1:] != (self.space.d,):
            raise InvalidInput(f"points must have shape (n, {self.space.d})", points, "Pass one row a point.")
        spots = [self._region(np.stack([x, x], axis=1)) for x in candidates]
        if noise is None:
            fixed = self._search.point_noise()
            if fixed is None:
                raise InvalidInput(
                    "the noise of a point is not known", noise, "Pass noise=, of one point measurement."
                )
            noise = fixed
        spread = standard_deviation(noise, "noise")
        centred, covariance = self._search.joint(spots)

        def reward(x: NDArray[np.float64]) -> float:
            return self._reward(measure_point(x), None)[0] - self._search.prior_mean

        found = sequential_halving(candidates, centred, covariance, spread, reward, budget)
        return replace(found, mean=self.prior_mean + self._sign * found.mean)

    def __repr__(self) -> str:
        """Return what a person wants to know first."""
        return (
            f"<Study: {self.told} of {self.budget} told, {len(self.pending)} under way, "
            f"{len(self._search.regions)} nodes>"
        )

    def _speak(self) -> None:
        """Pass warnings on, at the end of a step: turned into errors, they must not tear it apart."""
        for complaint in self._search.complaints():
            warnings.warn(complaint, stacklevel=3)

    def _reward(self, value: Any, sem: Any) -> tuple[float, float | None]:
        """Return a checked value as a reward, of which more is better, and its checked standard error."""
        fix = "Tell one finite number, or give the trial up."
        number = finite_number(value, "a measured value", fix)
        reward = self._sign * number
        if not abs(reward - self._search.prior_mean) <= LARGEST_STD:
            raise InvalidInput("a measured value is too far from the prior mean", value, fix)
        return reward, None if sem is None else standard_deviation(sem, "sem")

    def _region(self, region: Any) -> Region:
        if isinstance(region, Region) and region.space == self.space:
            return with_feedback(region, self.feedback)
        if isinstance(region, Region):
            if not (isinstance(self.space, Box) and isinstance(region.space, Box)):
                raise InvalidInput("this region is of another space", region.name, "Describe it in this one.")
            region = region.bounds
        made: Region = self.space.region(region, self.feedback)
        return made


class _Enough:
    """Tells whether a study's answer has been good enough twice in a row, once there is enough to judge by."""

    def __init__(self, study: Study, tolerance: float) -> None:
        self._study = study
        self._tolerance = tolerance
        self._before = False

    def __call__(self) -> bool:
        before, self._before = self._before, self._study._good_enough(self._tolerance)
        return before and self._before


def _spread(region: Region) -> NDArray[np.float64]:
    """Return a grid of points over a region, ten an axis, and a thousand at most."""
    d = len(region.widths)
    return Average(min(10, int(1000 ** (1 / d) + 1e-9))).points(region.center, region.widths)
