"""A study as it stands at one moment: its history, its tree, its model, and what follows from them.

Everything here reads one state and changes nothing; it turns rewards counted from the prior mean back into the
user's values. `Study` adds what changes; `past` gives the moments before.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from zonal import looking
from zonal.averages.feedback import Feedback
from zonal.beliefs.empirical import EmpiricalBelief
from zonal.beliefs.lattice import Weighted
from zonal.beliefs.mixture import Mixture
from zonal.beliefs.model import Model
from zonal.errors import InvalidInput, TrialError, finite_number, probability, whole_number
from zonal.rounds import certainty, decisions
from zonal.rounds.certainty import Outlook, Standing
from zonal.rounds.events import Asked, Edited, Event
from zonal.rounds.journal import Journal
from zonal.rounds.outcomes import Outcome, outcomes
from zonal.rounds.settings import RegionLike, Settings
from zonal.rounds.state import State
from zonal.rounds.trials import Bands, Likely, Observation, Prediction, Recommendation, Trial, TrialRecord
from zonal.rounds.views import views
from zonal.spaces import Region, with_feedback
from zonal.tables.habits import missing
from zonal.tables.listings import Listing
from zonal.tree import TreeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zonal.plots import Kind

Floats = NDArray[np.float64]
Side = Literal["above", "below"]

CLEAR = 2.0  # standard deviations by which a region stands out at least


class Reading:
    """A study at one moment, to be read."""

    _state: State
    _lock: threading.RLock
    _journal: Journal | None = None

    @property
    def id(self) -> str:
        """What tells this study's trials from those of others; copies keep it."""
        return self._state.began.id

    @property
    def path(self) -> Path | None:
        """The file in which the study lives; None in memory."""
        return None if self._journal is None else self._journal.path

    @property
    def read_only(self) -> str:
        """Why the study can only be looked at; "" if it can go on."""
        return "" if self._journal is None else self._journal.read_only

    @property
    def settings(self) -> Settings:
        """Everything that was given."""
        return self._state.problem.settings

    @property
    def events(self) -> tuple[Event, ...]:
        """The whole history: what was decided and what happened."""
        return tuple(self._state.events)

    @property
    def times(self) -> tuple[str, ...]:
        """When each event was written, in UTC; nothing in memory, where that is not kept."""
        return () if self._journal is None else tuple(row.time for row in self._journal.rows())

    @property
    def edited(self) -> tuple[str, ...]:
        """What was said of each edited export that the history came from: empty if nobody changed it."""
        return tuple(fact.why for event in self._state.events for fact in event if isinstance(fact, Edited))

    @property
    def space(self) -> Any:
        """Where the study looks."""
        return self.settings.space

    @property
    def feedback(self) -> Feedback:
        """What a measurement sees of a region."""
        return self.settings.feedback

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Whether high or low averages are wanted."""
        return self.settings.direction

    @property
    def value_name(self) -> str:
        """What is measured."""
        return self.settings.value_name

    @property
    def value_unit(self) -> str:
        """In which unit."""
        return self.settings.value_unit

    @property
    def budget(self) -> int:
        """Measurements that may be made in all."""
        return self._state.budget

    @property
    def told(self) -> int:
        """Trials told."""
        return self._state.told

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not yet told or given up, oldest first."""
        state = self._state
        return tuple(trial_of(state, asked) for asked in state.pending.values())

    @property
    def remaining(self) -> int:
        """Measurements that may still be asked for."""
        return self._state.budget - self._state.begun

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials so far and what became of them."""
        return [one for one, _ in _trials(self._state)]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The measurements that were made outside of the study, but for those retracted."""
        return tuple(one for one, past in _observations(self._state) if past[-1].value is not None)

    def history(self) -> list[tuple[TrialRecord | Observation, list[Outcome]]]:
        """Return every trial and every observation, each with all that became of it, the last thing last."""
        state = self._state
        return [*_trials(state), *_observations(state)]

    @property
    def barred(self) -> tuple[Region, ...]:
        """Regions that could not be measured and are not asked for any more; `allow` takes that back."""
        state = self._state
        return tuple(state.region(row) for row in state.barred)

    @property
    def prior_mean(self) -> float:
        """The prior mean of f, as given or learned."""
        return self._sign * self._state.prior_mean

    @property
    def model(self) -> Model:
        """The kernel, noise and prior mean in use, as given or learned, and how well they are known."""
        model = self._state.model
        if model is None:
            raise InvalidInput("the empirical belief has no model", "StoOO", "Use a policy such as GPOO.")
        return self._outward(model)

    @property
    def models(self) -> tuple[Weighted, ...]:
        """The weighted models that stand for all the measurements allow; one if the model was given."""
        belief = self._state.belief
        if not isinstance(belief, Mixture):
            return ()
        return tuple(
            Weighted(weight, self._outward(member.model))
            for weight, member in zip(belief.weights.tolist(), belief.members, strict=True)
        )

    def _outward(self, model: Model) -> Model:
        """Return a model in the user's units; a noise that was given as a number is part of it."""
        noise = self.settings.noise
        given = noise if isinstance(noise, float) else None
        return replace(
            model,
            mean=self._sign * model.mean,
            noise=given if model.noise is None else model.noise,
            spread=dict(model.spread),
        )

    @property
    def _sign(self) -> float:
        return self.settings.sign

    @property
    def tree(self) -> TreeTable:
        """The tree now, as read-only arrays; means and stds are of told measurements only."""
        return _table(self._state)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The pending trials as they were asked for, and by whom."""
        return tuple(self._state.pending.values())

    def _asked(self, trial: Trial | int) -> Asked:
        """Return a trial as it was asked for, or complain that it never was."""
        state = self._state
        known = trial if isinstance(trial, Trial) else None
        number = whole_number(trial, "a trial", 0) if known is None else known.number
        asked = state.asked[number] if number < state.asked.size else None
        if asked is None or (
            known is not None
            and (known.study != state.began.id or known.node != asked.node or known.replicate != asked.replicate)
        ):
            raise TrialError(
                f"{trial!r} is not a trial of this study, which has asked for {len(state.asked)}. Pass a trial "
                "that ask() returned, or its number."
            )
        return asked

    @property
    def found(self) -> Region:
        """The region to settle for now; `recommend` also says how sure that is, which takes some milliseconds."""
        return self._settle()[0]

    def _settle(self) -> tuple[Region, float, float]:
        """Return the region to settle for, and mean and standard deviation of its average."""
        with self._lock:
            state = self._state
            row = decisions.recommend(state)
        tree = state.tree
        return state.region(row), self._value(state, tree.mean.item(row)), tree.std.item(row)

    def _value(self, state: State, centred: Any) -> Any:
        """Return means in the user's units."""
        return self._sign * (state.prior_mean + centred)

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
        with self._lock:
            state = self._state
            rows = certainty.ranking(state.tree, decisions.recommend(state), number)
            if isinstance(state.belief, EmpiricalBelief):
                sure = [Standing(math.nan, math.nan) for _ in rows]
            else:
                sure = certainty.standings(state.tree, views(state, pending=False), np.array(rows), theta)
        tree, found = _table(state), []
        for row, standing in zip(rows, sure, strict=True):
            region = state.region(row)
            assert region.node is not None
            mean, std = float(tree.mean[row]), float(tree.std[row])
            found.append(Recommendation(region, region.node, mean, std, *standing, unit=self.value_unit))
        return found[0] if k is None else found

    def outlook(self, n: int) -> Outlook:
        """Return by how much `n` more measurements are expected to improve the recommended region's true average.

        Measurements are planned at once and played on draws from the posterior, where they also weigh the models
        anew. A search that learns on the way does at least as well, so for many measurements this is a cautious
        figure; it holds under the models.

        Parameters
        ----------
        n : int
            How many more; the budget does not matter.
        """
        number = whole_number(n, "the number of measurements", 1)
        with self._lock:
            first = future = self._state
            for _ in range(number):
                future = decisions.ask(future, "")
            plan = [future.asked[asked].row for asked in range(first.asked.size, future.asked.size)]
            return certainty.outlook(future.tree, views(future, pending=False), decisions.recommend(future), plan)

    def above(self, threshold: float, probability: float = 0.9) -> looking.LikelyRegions:
        """Return the regions of the smallest size whose average exceeds a threshold, the likeliest first.

        Parameters
        ----------
        threshold : float
            In value units.
        probability : float
            How probable it must be, under the model.

        Returns
        -------
        LikelyRegions
            A table of `Likely`. Where no region is probable enough it has no rows, and its title says so and names
            the likeliest.
        """
        return self._beyond("above", threshold, probability)

    def below(self, threshold: float, probability: float = 0.9) -> looking.LikelyRegions:
        """Return the regions of the smallest size whose average is below a threshold, as `above` does."""
        return self._beyond("below", threshold, probability)

    def _beyond(self, side: Side, threshold: float, wanted: float) -> looking.LikelyRegions:
        probability(wanted, "probability")
        limit = finite_number(threshold, "threshold")
        with self._lock:
            state = self._state
            rows = certainty.candidates(state.tree)
            models = ((own.weight, own.mean[rows], own.std[rows]) for own in views(state, pending=False))
            chance = self._chance(state, side, limit, models)
        tree, order = _table(state), np.argsort(-chance, kind="stable")
        number = int(np.count_nonzero(chance >= wanted))
        likely = [
            Likely(state.region(row), float(tree.mean[row]), float(tree.std[row]), float(chance[at]))
            for at, row in zip(order[: max(number, 1)], rows[order].tolist(), strict=False)
        ]
        beyond = f"is {side} {limit:g} {self.value_unit}".rstrip() + f" with a probability of {wanted:g}"
        return looking.likely_table(self, beyond, likely, number)

    def _chance(self, state: State, side: Side, limit: float, models: Iterable[certainty.Under]) -> Floats:
        """Return the probability of values on a side of a threshold."""
        better = certainty.exceeding(models, self._sign * limit - state.prior_mean)
        return better if (side == "above") == (self._sign > 0) else 1 - better

    def probability(
        self,
        regions: RegionLike | Sequence[RegionLike],
        *,
        above: float | None = None,
        below: float | None = None,
    ) -> Any:
        """Return the probability, under the model, that any region's average is above or below a threshold.

        Parameters
        ----------
        regions : Region, what ``space.region`` takes (see `observe`), or several of these
            In the tree or not.
        above, below : float
            The threshold in value units, one of the two.

        Returns
        -------
        float or array
            A number for one region, an array for several.
        """
        if (above is None) == (below is None):
            given = None if above is None else (above, below)
            raise InvalidInput(
                "a probability is of being above or below a threshold", given, "Pass one of the two."
            )
        side: Side = "below" if above is None else "above"
        limit = finite_number(below if above is None else above, side)
        listed, one = self._listed(regions)
        if not listed:
            return np.zeros(0)
        with self._lock:
            state = self._state
            if not isinstance(state.belief, Mixture):
                raise InvalidInput("the empirical belief knows no probabilities", "StoOO", "Use another policy.")
            parts = state.belief.under_models(state.problem.feedback.footprints(listed))
        models = [(weight, mean, np.sqrt(variance)) for weight, mean, variance in parts]
        chance = self._chance(state, side, limit, models)
        return float(chance[0]) if one else chance

    def stands_out(self) -> bool:
        """Tell whether the recommended region is better than the space on average, beyond chance.

        Its average must exceed that of the whole space by more standard deviations than the best of as many
        regions as were measured would by luck: sqrt(2 log n), and two at least; more while the noise, if learned,
        is not well known.
        """
        with self._lock:
            state = self._state
            best, whole = decisions.recommend(state), 0
            if best == whole or not decisions.has_scale(state):
                return False
            joint = state.belief.covariance(state.tree.slot[[best, whole]])
        unsure = 0.0 if state.model is None else state.model.spread.get("noise", 0.0)
        luck = math.sqrt(2 * math.log(max(int(np.count_nonzero(state.tree.count)), 1)))
        spread = math.sqrt(max(float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1]), 0.0))
        advantage = float(state.tree.mean[best] - state.tree.mean[whole])
        return advantage > 0 and advantage > max(CLEAR, luck) * (1 + unsure) * spread

    def predict(self, regions: RegionLike | Sequence[RegionLike]) -> Prediction:
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
        listed, one = self._listed(regions)
        if not listed:
            return Prediction(np.zeros(0), np.zeros(0))
        with self._lock:
            state = self._state
            centred, variance = expected(state, listed)
        mean, std = self._value(state, centred), np.sqrt(variance)
        return Prediction(float(mean[0]), float(std[0])) if one else Prediction(mean, std)

    def doubt(self, regions: Sequence[RegionLike] | None = None) -> Floats:
        """Return how much of what was not known before the first measurement is not known now: 1 all, 0 nothing.

        It is the standard deviation of a region's average over the prior one, both under the models in use; on an
        empirical belief 1 / sqrt(1 + T) after T measurements of the region.

        Parameters
        ----------
        regions : several regions, as for `predict`, optional
            By default the nodes of ``tree``, in its order.
        """
        if regions is not None:
            return self._known([self._region(region) for region in regions])[1]
        with self._lock:
            state = self._state
            return state.belief.doubt(state.belief.columns[1])[state.tree.slot]

    def _known(self, regions: list[Region]) -> tuple[Floats, Floats]:
        """Return means of some regions' averages, and how much of what was not known is not known now."""
        with self._lock:
            state = self._state
            centred, variance = expected(state, regions)
            doubt = state.belief.doubt(variance, state.problem.feedback.footprints(regions))
        return self._value(state, centred), doubt

    def _listed(self, regions: Any) -> tuple[list[Region], bool]:
        """Return regions as such, and whether it is one that was meant."""
        if isinstance(regions, Iterator):
            regions = list(regions)
        one = self.space.is_one(regions)
        return [self._region(region) for region in ([regions] if one else regions)], one

    def bands(self) -> Bands:
        """Return how far each node's average, and f within the node, may lie from the posterior mean.

        The b-value by which the next trial is chosen is ``mean + confidence + variation`` (equation 5 of the
        paper).
        """
        with self._lock:
            return Bands(*decisions.bands(self._state))

    def past(self, *told: int) -> list[Reading]:
        """Return the study as it was after each of some numbers of measurements: to be read, not to go on with.

        Parameters
        ----------
        *told : int
            0 for the beginning, and no more than were told since.
        """
        now, moments = self._state, dict[int, Reading]()
        wanted = [whole_number(number, "a number of measurements", 0, now.told) for number in told]
        history = iter(now.events)
        state = State.begin(now.problem, next(history))
        while True:
            if state.told in wanted and state.told not in moments:
                moments[state.told] = moment = Reading()
                moment._state, moment._lock, moment._journal = state, self._lock, self._journal
            if len(moments) == len(set(wanted)):
                return [moments[number] for number in wanted]
            state = state.apply(next(history))

    def table(self, history: bool = False) -> Listing:
        """Return all trials and observations as a table, to print, to show or to take away (``.to_pandas()``).

        The columns are number, region, one an axis, feature or level with its unit, value, standard error,
        replicate, posterior mean and standard deviation of the region's average, state and note. Observations
        have no number among the trials, but one of their own.

        Parameters
        ----------
        history : bool
            Above each row those that it replaced, as "was told" and the like, with columns of who corrected or
            retracted it and, of a study in a file, when.
        """
        return looking.trial_table(self, history)

    def top(self, k: int = looking.TOP) -> Listing:
        """Return the `k` best regions as a table: disjoint, of the smallest size, the best first.

        The columns are rank, region, one an axis, feature or level, posterior mean and standard deviation of its
        average, how often it was measured, and the probability, under the model, that no region is better.
        """
        return looking.top_table(self, k)

    def plot(self, kind: Kind | None = None, ax: Axes | None = None, **more: Any) -> Axes:
        """Draw the study, or its "history", "tree", "model" or "regions": see `zonal.plots.plot`."""
        from zonal.plots import plot

        return plot(self, kind, ax, **more)

    def __repr__(self) -> str:
        """Return how far it is."""
        return (
            f"<Study: {self.told} of {self.budget} told, {len(self.pending)} under way, "
            f"{self._state.table.size} nodes>"
        )

    def __str__(self) -> str:
        """Return what a person wants to know first."""
        return f"{looking.headline(self)}\n{looking.verdict(self)}"

    def _repr_html_(self) -> str:
        """Return what a person wants to know first, for a notebook."""
        return looking.study_card(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Complain of a name that is not there, with the one it has here."""
            raise missing("a study", name)

    def _region(self, region: Any) -> Region:
        if isinstance(region, Region) and region.space == self.space:
            return with_feedback(region, self.feedback)
        if isinstance(region, Region):
            if not (self.space.continuous and region.space.continuous):
                raise InvalidInput("this region is of another space", region.name, "Describe it in this one.")
            region = region.bounds
        made: Region = self.space.region(region, self.feedback)
        return made


def trial_of(state: State, asked: Asked) -> Trial:
    """Return a trial as the user gets it."""
    return Trial(asked.number, asked.node, state.region(asked.row), asked.replicate, state.began.id)


def expected(state: State, regions: Sequence[Region]) -> tuple[Floats, Floats]:
    """Return mean, counted from the prior mean, and variance of any regions' averages."""
    if isinstance(state.belief, EmpiricalBelief):  # which knows nodes of the tree only
        rows = [state.find(region) for region in regions]
        if None not in rows:
            at = np.array(rows, dtype=np.intp)
            return state.tree.mean[at], state.tree.std[at] ** 2
    return state.belief.predict(state.problem.feedback.footprints(regions))


def _trials(state: State) -> Iterator[tuple[TrialRecord, list[Outcome]]]:
    became = outcomes(state.events)
    for asked in state.asked:
        past = became[False, asked.number]
        _, how, value, sem, note, _ = past[-1]
        yield TrialRecord(**vars(trial_of(state, asked)), state=how, value=value, sem=sem, note=note), past


def _observations(state: State) -> Iterator[tuple[Observation, list[Outcome]]]:
    became = outcomes(state.events) if state.observed.size else {}
    for number, (_, fact) in enumerate(state.observed):
        past = became[True, number]
        value, sem = next((own.value, own.sem) for own in reversed(past) if own.value is not None)
        yield Observation(number, fact.region, value, sem, past[-1].note, state.began.id), past


def _table(state: State) -> TreeTable:
    """Return the tree in the user's units."""
    sign = state.problem.sign
    return state.tree.snapshot(sign * state.prior_mean, sign)
