"""Readings that may be gross errors: which ones are far off, what is asked for again, and which reading holds.

A reading far from what the models and the other readings expect is not believed alone. It is set aside, out of
posterior and fits, and the next trial is its region again. If the repeat agrees with it (closer to it than to what
is expected, or as close as noise explains), both count; if not, the one further off stays set aside. Where the
repeat is surprising too, or not quite far, a second one decides; also where errors were found before and the first
reading would be the best: a hill lost costs more than a measurement.

New readings are compared with what was expected of them; at fits all others are, each left out in turn, and those
that look far off once more with models that were learned without them. How far is far depends on how many errors
were found: with none, 4.5 standard deviations; else where an error of that share becomes likelier than a reading.

Decided here, applied by `apply.py`. Policies know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zonal._types import Floats, Ints
from zonal.engine.apply import counted_rewards
from zonal.engine.events import Asked, Reinstated, SetAside, Told
from zonal.engine.expand import ALL, Possible
from zonal.engine.off_grid import may_be_repeated
from zonal.engine.results import Source
from zonal.engine.state import State
from zonal.engine.trial_history import outcomes
from zonal.engine.windows import Obstacles
from zonal.gp.model_average import Member, Mixture
from zonal.gp.stats import ObservationStats, Reward, StatsArrays
from zonal.policies.base import RoundCosts

ENOUGH = 6  # other readings, with fewer of which nothing can be judged
SURE = 4.5  # standard deviations from what is expected
MADS = 5.0  # and times as far off as the median reading
ALIKE = 3.0  # standard deviations of their difference: two readings closer than this agree
UNSURE = 4.5  # of these: a repeat less far from a doubted reading does not decide alone
SURPRISING = 2.5  # standard deviations: a repeat further from what is expected does not decide alone
WIDTH = 7.0  # of gross errors, in standard deviations of what is expected
LEAST_SURE = 3.0  # standard deviations, where many errors were found
FEW = 3  # readings: a standard deviation that so many tell may be half or twice as large
STD_PER_MAD = 1.4826  # of a normal distribution
SCREEN, SCREEN_MADS = 2.5, 4.5  # of a reading that is left out under models learned with it
MOST = 3  # readings left out together when models are learned without them, and that wait at a time


class Deviations(NamedTuple):
    """Readings beside what the models and the other readings expect of each; rewards, absolute."""

    reading: Floats
    expected: Floats
    std: Floats  # of the reading about that, its noise included

    @property
    def sigmas(self) -> Floats:
        """By how many standard deviations each reading is above what is expected; 0 where both are exact."""
        off = self.reading - self.expected
        return np.divide(off, self.std, out=np.zeros_like(off), where=self.std > 0)


class Scale(NamedTuple):
    """How far the median reading is from what the others say of it."""

    sigmas: float  # in standard deviations
    raw: float  # as the standard deviation of a normal distribution, in units of the rewards

    def limit(self, std: float, caution: float) -> float:
        """Return how far off a reading must be to be doubted, given the standard deviation expected of it."""
        return caution * max(SURE * max(std, self.raw), MADS * self.sigmas * std)


def deviations(
    mixture: Mixture, ledger: ObservationStats, slots: Sequence[int], rewards: Sequence[Reward]
) -> Deviations:
    """Return how far each of all rewards is from what the others say, leaving it out; models are kept.

    Under one model this is exact. The weights of the models are those that they would have without the reading.
    """
    readings, where = np.array([reward for reward, *_ in rewards]), np.array(slots, dtype=np.intp)
    data = ledger.data()
    parts = [_left_out(member, data, where, rewards) for member in mixture.members]
    means, variances = (np.stack(part) for part in zip(*parts, strict=True))
    positive = np.where(variances > 0, variances, 1.0)
    logs = np.log(mixture.weights)[:, None] + 0.5 * ((readings - means) ** 2 / positive + np.log(positive))
    weights = np.exp(logs - logs.max(axis=0))
    weights /= weights.sum(axis=0)
    mean = np.sum(weights * means, axis=0)
    variance = np.sum(weights * (variances + (means - mean) ** 2), axis=0)
    return Deviations(readings, mean, np.sqrt(np.maximum(variance, 0.0)))


def _left_out(member: Member, data: StatsArrays, slots: Ints, rewards: Sequence[Reward]) -> tuple[Floats, Floats]:
    """Return mean and variance of what one model expects of each reading, from all others."""
    if len(set(member.slots.tolist())) < member.rows or member.rows < len(set(data.slots.tolist())):
        member = member.rows_from(data)  # a row for each footprint
    readings, variances, weights, _ = np.array(rewards, dtype=float).T
    noise = np.where(np.isnan(variances), member.noise_variances(weights, slots), variances)
    row, line = np.full(member.tracked.size, -1), np.full(member.tracked.size, -1)
    row[member.slots] = np.arange(member.rows)
    off, total = (np.append(column, 0.0)[row[slots]] for column in member.left_out())
    of_slot, mean_rewards, left = member.by_slot(data)
    line[of_slot] = np.arange(len(of_slot))
    pooled, ybar = left[line[slots]], mean_rewards[line[slots]]
    means, of_f = ybar - off, np.maximum(total - pooled, 0.0)  # without all readings of the footprint
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(pooled > 0, 1 / pooled - 1 / noise, 0.0)
        their_mean, share = (ybar / pooled - readings / noise) / others, of_f * others / (1 + of_f * others)
        told = (others > 1e-9 / noise) & (of_f > 0)  # by other readings of the same footprint
        means = np.where(told, means + share * (their_mean - means), means)
        of_f = np.where(told, of_f / (1 + of_f * others), of_f)
    judged = (row[slots] >= 0) & (noise > 0)  # else the others imply it, or it is exact
    return np.where(judged, means, readings), np.where(judged, of_f + noise, 0.0)


def expected(state: State, slot: int, variance: float | None, weight: float) -> tuple[float, float]:
    """Return mean and standard deviation of the next reading of a slot, given the variance of its noise."""
    belief = state.posterior.of_rows
    of_f = [member.at(slot) for member in belief.members]
    means = np.array(
        [member.prior_mean(slot) + mean for member, (mean, _) in zip(belief.members, of_f, strict=True)]
    )
    parts = [
        left + member.noise_variance(variance, weight, slot)
        for member, (_, left) in zip(belief.members, of_f, strict=True)
    ]
    mean = float(belief.weights @ means)
    return mean, float(np.sqrt(belief.weights @ (np.array(parts) + (means - mean) ** 2)))


def judge(draft: State, before: State, told: Told) -> bool:
    """Judge a reading that was just told, and those that wait for it; return whether other readings count now.

    `before` is the state without it.
    """
    asked, source = draft.asked[told.number], (False, told.number)
    slot, noise, weight = draft.source_of(*source)
    time = weight if told.time is None else told.time / draft.created.time
    variance, weight = draft.problem.noise.of_reward(noise, told.sem, time)
    is_plain = told.minus is None and told.reading is None
    if not is_plain or variance == 0 or before.ledger.total < ENOUGH:
        return False
    sign = draft.problem.sign
    if draft.problem.shifts:  # what is expected of a reading depends on its labels, which may be new
        before = before.draft()
        before.posterior = before.posterior.tracking(draft.tracked)
    reward, (mean, std) = sign * told.value, expected(before, slot, variance, weight)
    off, caution = abs(reward - mean), _caution(before)
    unsure = [earlier for earlier in _waiting(before) if same_region(earlier, asked)]
    if not unsure and off <= caution * SURE * std:  # whatever the scale
        return False
    scale, again = _scale(before), can_repeat(draft, asked)
    doubtful = off > scale.limit(std, caution)
    waiting = dict[int, float]()  # readings of this region that wait for one, by trial
    for earlier in unsure:
        waiting[earlier.number] = sign * _value(draft, earlier.number)
        if draft.problem.shifts:  # as it would have read with the labels of this one
            its_slot = draft.source_of(False, earlier.number)[0]
            waiting[earlier.number] += mean - expected(before, its_slot, variance, weight)[0]
    noise = math.sqrt(2) * _noise(before, variance, weight, slot)  # of a difference of two readings
    alike = max(off, ALIKE * max(noise, math.sqrt(2) * scale.raw))
    agreeing = [number for number, other in waiting.items() if abs(other - reward) < alike]
    if waiting and not agreeing and again and _n_since(draft, asked, min(waiting)) == 1:
        near = min(abs(other - reward) for other in waiting.values()) < UNSURE * noise
        would_win = caution < 1 and max(waiting.values()) > _best_mean(before)
        if near or would_win or off > SURPRISING * std:  # a second repeat decides
            if doubtful:
                draft.apply_event(_doubt(draft, source, mean, std, waits=True))
            return doubtful
    for number in waiting:
        if number in agreeing:
            draft.apply_event(Reinstated(number, False, True, told.number))
        else:
            draft.apply_event(_doubt(draft, (False, number), mean, std, waits=False))
    furthest = bool(waiting) and off >= max(abs(other - mean) for other in waiting.values())
    if doubtful and not agreeing and (again or furthest):  # without a further repeat the one further off goes
        draft.apply_event(_doubt(draft, source, mean, std, waits=again))
        return True
    return bool(agreeing)


def review(draft: State) -> bool:
    """Judge all readings against each other, after a fit; return whether some were set aside."""
    learner, ledger = draft.problem.learner, draft.ledger
    room = MOST - len(_waiting(draft))  # else a reading believed by mistake could have all others doubted
    if ledger.total <= ENOUGH or room < 1:
        return False
    counted = counted_rewards(draft, draft.history)
    slots, rewards = [slot for _, slot, *_ in counted], [reward for _, _, reward, _ in counted]
    sigmas = np.abs(deviations(draft.posterior.of_rows, ledger, slots, rewards).sigmas)
    limit, far = max(SCREEN, SCREEN_MADS * _caution(draft) * float(np.median(sigmas))), list[int]()
    for at in np.argsort(-sigmas, kind="stable").tolist():
        if sigmas[at] <= limit or len(far) == room:
            break
        if _may_doubt(draft, counted[at][0]):
            far.append(at)
    if not far:
        return False
    rest = ledger
    for slot in dict.fromkeys(slots[at] for at in far):
        kept = [reward for at, reward in enumerate(rewards) if slots[at] == slot and at not in far]
        rest = rest.with_rewards(slot, kept)
    without = draft.draft()
    fit = learner.learn(None, rest, draft.tracked) if learner.learns else draft.fit_state.fit
    without.posterior = draft.posterior.from_scratch(fit, rest)
    changed, scale, caution = False, _scale(without), _caution(without)
    for at in far:
        reward, variance, weight, _ = rewards[at]
        mean, std = expected(without, slots[at], variance, weight)
        if abs(reward - mean) > scale.limit(std, caution):
            draft.apply_event(_doubt(draft, counted[at][0], mean, std, waits=True))
            changed = True
    return changed


def release(draft: State) -> bool:
    """Let readings count whose region cannot be measured again any more; return whether there were some."""
    numbers = [asked.number for asked in _waiting(draft) if not can_repeat(draft, asked)]
    for number in numbers:
        draft.apply_event(Reinstated(number, False, True, None))
    return bool(numbers)


def next_repeat(state: State, terms: RoundCosts | None, now: Possible | None) -> Asked | None:
    """Return the trial to repeat, if that is possible `now` and can be paid; else None."""
    for asked in _waiting(state):
        if any(same_region(asked, other) for other in state.pending.values()) or not can_repeat(state, asked):
            continue
        if now is not None and now.of_region(state.asked_region(asked)) != ALL:
            continue
        if terms is None or terms.costs(np.array([asked.row]), asked.time)[0] <= terms.left:
            return asked
    return None


def same_region(asked: Asked, other: Asked) -> bool:
    """Tell whether two trials are of the same region."""
    if asked.window is None or other.window is None:
        return asked.row == other.row and asked.window is other.window
    return bool(asked.window.key == other.window.key)


def can_repeat(state: State, asked: Asked) -> bool:
    """Tell whether the region of a trial may be measured again, as far as it depends on the region alone."""
    if asked.window is not None:
        return Obstacles.of(state).permits(asked.window) and may_be_repeated(state, asked.window)
    row, most = asked.row, state.problem.settings.max_replicates
    free = not state.structure.forbidden[row] and row not in state.blocked
    return bool(free and (most is None or state.n_measurements(row) < most))


def _waiting(state: State) -> list[Asked]:
    """Return the trials that wait for a repeat, the earliest doubt first."""
    return [state.asked[number] for (_, number), doubt in state.set_aside.items() if doubt.waits]


def _may_doubt(state: State, source: Source) -> bool:
    """Tell whether the rule may set a reading aside that counts: a trial's own average, not confirmed yet."""
    observed, number = source
    if observed or source in state.believed or number in state.differences or source in state.sites:
        return False
    return can_repeat(state, state.asked[number])


def _doubt(state: State, source: Source, mean: float, std: float, waits: bool) -> SetAside:
    observed, number = source
    return SetAside(number, observed, True, waits, state.problem.sign * mean, std)


def _scale(state: State) -> Scale:
    """Return how far off the median row is, left out under models that know it."""
    medians = []
    belief = state.posterior.of_rows
    for member in belief.members:
        off, variance = member.left_out()
        far = np.abs(off)
        medians.append(np.median([far / np.sqrt(variance), far], axis=1) if len(off) else (0.0, 0.0))
    sigmas, raw = (belief.weights @ np.array(medians)).tolist()
    return Scale(sigmas, STD_PER_MAD * raw)


def _caution(state: State) -> float:
    """Return the share of the usual deviations from which a reading is doubted: less where errors were found."""
    errors = sum(doubt.by_rule and not doubt.waits for doubt in state.set_aside.values())
    if not errors:
        return 1.0
    number = state.ledger.total
    share = errors / (number + errors)
    odds = max(WIDTH * (1 - share) / share, 1.0)
    sure = max(math.sqrt(2 * math.log(odds)), LEAST_SURE)
    return min((1 + FEW / number) * sure / SURE, 1.0)


def _best_mean(state: State) -> float:
    """Return the highest mean of a region of the tree."""
    return float(state.prior_mean + np.nanmax(state.posterior_table().mean))


def _n_since(state: State, asked: Asked, first: int) -> int:
    """Return how many readings of a region came after one of its trials."""
    past = outcomes(state.history)
    later = [other for other in state.asked[first + 1 :] if same_region(asked, other)]
    return sum(past[False, other.number][-1].value is not None for other in later)


def _noise(state: State, variance: float | None, weight: float, slot: int) -> float:
    """Return the standard deviation of the noise of a reading, averaged over models."""
    belief = state.posterior.of_rows
    variances = [member.noise_variance(variance, weight, slot) for member in belief.members]
    return math.sqrt(belief.weights @ variances)


def _value(state: State, number: int) -> float:
    """Return the value of a trial that has one."""
    value = outcomes(state.history)[False, number][-1].value
    assert value is not None
    return value
