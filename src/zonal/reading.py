"""What can be read of a study: its history, its tree, its model, and what follows from them.

Everything here reads one state and changes nothing; it turns rewards counted from the prior mean back into the
user's values. `Study` adds what changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from zonal.averages.feedback import Feedback
from zonal.beliefs.lattice import Weighted
from zonal.beliefs.mixture import Mixture
from zonal.beliefs.model import Model
from zonal.errors import InvalidInput, TrialError, finite_number, probability, whole_number
from zonal.policies.knowledge import KnowledgeGradient
from zonal.rounds import answers, decisions
from zonal.rounds.certainty import Outlook
from zonal.rounds.events import Asked, Edited, Ended, Event, Told
from zonal.rounds.settings import RegionLike, Settings
from zonal.rounds.state import State
from zonal.rounds.trials import Bands, Likely, Observation, Prediction, Recommendation, Trial, TrialRecord
from zonal.spaces import Box, Interval, Region, with_feedback
from zonal.tree import TreeTable

JUDGE = 10  # measurements after the opening sweep, before a learned model says that it is enough


class Reading:
    """A study as far as it can be read."""

    _state: State
    _lock: threading.RLock

    @property
    def id(self) -> str:
        """What tells this study's trials from those of others; copies keep it."""
        return self._state.began.id

    @property
    def settings(self) -> Settings:
        """Everything that was given."""
        return self._state.problem.settings

    @property
    def events(self) -> tuple[Event, ...]:
        """The whole history: what was decided and what happened."""
        return tuple(self._state.events)

    @property
    def edited(self) -> tuple[str, ...]:
        """What was said of each edited export that the history came from: empty if nobody changed it."""
        return tuple(event.why for event in self._state.events if isinstance(event, Edited))

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
        state = self._state
        became: dict[int, dict[str, Any]] = {}
        for event in state.events:
            if isinstance(event, Told):
                became[event.number] = {
                    "value": event.value,
                    "sem": event.sem,
                    "note": event.note,
                    "state": "told",
                }
            elif isinstance(event, Ended):
                became[event.number] = {"state": event.state}
        return [
            TrialRecord(**vars(trial_of(state, asked)), **became.get(asked.number, {})) for asked in state.asked
        ]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The measurements that were made outside of the study."""
        return tuple(self._state.observations)

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
        number = trial.number if isinstance(trial, Trial) else whole_number(trial, "a trial", 0)
        asked = state.asked[number] if number < len(state.asked) else None
        if asked is None or (
            isinstance(trial, Trial)
            and (trial.study != self.id or trial.node != asked.node or trial.replicate != asked.replicate)
        ):
            raise TrialError(
                f"{trial!r} is not a trial of this study, which has asked for {len(state.asked)}. Pass a trial "
                "that ask() returned, or its number."
            )
        return asked

    @property
    def found(self) -> Region:
        """The region to settle for now; `recommend` also says how sure that is, which takes some milliseconds."""
        with self._lock:
            state = self._state
            return state.regions[answers.recommend(state)]

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
            rows = answers.ranking(state, number)
            standings = answers.standings(state, rows, theta)
        tree = _table(state)
        found = []
        for row, (gap, best) in zip(rows, standings, strict=True):
            region = state.regions[row]
            assert region.node is not None
            mean, std = float(tree.mean[row]), float(tree.std[row])
            found.append(Recommendation(region, region.node, mean, std, gap, best))
        return found[0] if k is None else found

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
        with self._lock:
            return answers.outlook(self._state, number)

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
        limit = self._sign * finite_number(threshold, "threshold")
        with self._lock:
            state = self._state
            rows, chance = answers.exceeding(state, limit - state.prior_mean)
        chance = chance if side == self._sign else 1 - chance
        tree = _table(state)
        return [
            Likely(
                state.regions[int(rows[at])],
                float(tree.mean[rows[at]]),
                float(tree.std[rows[at]]),
                float(chance[at]),
            )
            for at in np.argsort(-chance, kind="stable")
            if chance[at] >= wanted
        ]

    def stands_out(self) -> bool:
        """Tell whether the recommended region is better than the space on average, beyond chance.

        Its average must exceed that of the whole space by more standard deviations than the best of as many
        regions as were measured would by luck: sqrt(2 log n), and two at least; more while the noise, if learned,
        is not well known.
        """
        with self._lock:
            return answers.stands_out(self._state)

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
        if isinstance(regions, Iterator):
            regions = list(regions)
        one = self.space.is_one(regions)
        several: list[Any] = [regions] if one else list(regions)  # type: ignore[arg-type]
        listed = [self._region(region) for region in several]
        if not listed:
            return Prediction(np.zeros(0), np.zeros(0))
        with self._lock:
            state = self._state
            centred, std = answers.predict(state, listed)
        mean = self._sign * (state.prior_mean + centred)
        return Prediction(float(mean[0]), float(std[0])) if one else Prediction(mean, std)

    def bands(self) -> Bands:
        """Return how far each node's average, and f within the node, may lie from the posterior mean.

        The b-value by which the next trial is chosen is ``mean + confidence + variation`` (equation 5 of the
        paper).
        """
        state = self._state
        return Bands(*decisions.rules(state).bands(state.tree, state.told + 1))

    def _smallest_note(self) -> str:
        """Return what the policy took for the smallest size, where the space names none."""
        if not isinstance(self._state.problem.policy, KnowledgeGradient) or self.space.deepest() is not None:
            return ""
        depth = self._state.h_max + 1
        lines = [j for j, axis in enumerate(self.space.axes) if isinstance(axis, Interval)]
        parts = {self.space.arity ** self.space.splits(j, depth) for j in lines}
        shown = " or ".join(str(number) for number in sorted(parts))
        return f"; the space names no smallest region, so {shown} parts of an axis were taken"

    def _good_enough(self, tolerance: float) -> bool:
        """Tell whether the recommended region is known to be good enough; a learned model has to see some more."""
        state = self._state
        judged = self.told >= decisions.opening_size(state) + JUDGE or not state.problem.learned
        if not judged or decisions.next_of_opening(state) is not None:
            return False
        return self.recommend().gap <= tolerance

    def __repr__(self) -> str:
        """Return what a person wants to know first."""
        return (
            f"<Study: {self.told} of {self.budget} told, {len(self.pending)} under way, "
            f"{len(self._state.regions)} nodes>"
        )

    def _region(self, region: Any) -> Region:
        if isinstance(region, Region) and region.space == self.space:
            return with_feedback(region, self.feedback)
        if isinstance(region, Region):
            if not (isinstance(self.space, Box) and isinstance(region.space, Box)):
                raise InvalidInput("this region is of another space", region.name, "Describe it in this one.")
            region = region.bounds
        made: Region = self.space.region(region, self.feedback)
        return made


def trial_of(state: State, asked: Asked) -> Trial:
    """Return a trial as the user gets it."""
    return Trial(asked.number, asked.node, state.regions[asked.row], asked.replicate, state.began.id)


def _table(state: State) -> TreeTable:
    """Return the tree in the user's units."""
    sign = state.problem.sign
    return state.tree.snapshot(sign * state.prior_mean, sign)
