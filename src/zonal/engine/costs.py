"""What looks cost: region, time and travel, in the user's unit.

What the user's functions return is cached by node. They are called when a look is decided on, never when a history
is read: a trial stores its cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from zonal._types import Floats
from zonal.engine.events import Asked
from zonal.errors import InvalidInput, finite_number, listed, need, positive_number
from zonal.spaces import Node, Region

LEAST_OPENING_CELLS = 8
OPENING_SHARE = 0.4  # of the budget
MOST_TOUR_CELLS, MOST_TOUR_LOOKS = 16, 32  # cells of the tour that sets its length; looks of one tour
TYPICAL_CELLS, MOST_DEPTHS = 4, 16  # cells of each depth, and depths, at which the user's cost is evaluated
LARGEST_COST = 1e100
SLACK = 1e-9  # of the budget: smaller differences are rounding


def checked_times(times: Any, name: str) -> tuple[float, ...]:
    """Check the times to choose from, and return them."""
    if times is None:
        return ()
    fix = "Pass a list of times above 0, such as [1, 2, 4, 8]."
    each = tuple(positive_number(own, "a time") for own in listed(times, f"{name} must be a list", fix))
    need(len(set(each)) == len(each), f"{name} must differ from each other", times, fix)
    return each


def checked_price(value: Any, name: str) -> float:
    """Check a cost, and return it."""
    number = finite_number(value, name)
    need(number >= 0, f"{name} must not be negative", value, "Pass 0 or more.")
    need(number <= LARGEST_COST, f"{name} is too large to add up", value, f"Pass {LARGEST_COST:g} at most.")
    return number


def checked_travel(travel: Any, name: str, space: Any) -> float:
    """Check the cost of travel per unit of distance, and return it."""
    number = checked_price(travel, name)
    fix = "Pass a function of two regions."
    need(space.continuous, "this space has no distances of its own", travel, fix)
    units = ", ".join(unit or "none" for unit in space.units)
    problem = f"axes of different units ({units}) have no common distance for travel"
    fix = "Give all axes one unit, or pass a function of two regions that returns the cost of travel."
    need(len(set(space.units)) == 1, problem, travel, fix)
    return number


class Prices:
    """What looks cost in one study."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._space = settings.space
        self.timed = bool(settings.times)  # whether looks cost their time
        self._cost = float(not self.timed) if settings.cost is None else settings.cost
        self._travel, self._overhead = settings.travel, settings.overhead
        self.times = np.array(settings.times or (1.0,))  # to choose from; 1 alone where times are not chosen
        self._cell = cache(partial(self._space.cell, feedback=settings.feedback))
        self._of_node = cache(lambda node: self.of_region(self._cell(node)))
        self._way = cache(self._way_between)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without what was computed."""
        return Prices, (self._settings,)

    def of_time(self, time: Any) -> Any:
        """Return what times cost."""
        return time if self.timed else 0.0

    def of_region(self, region: Region) -> float:
        """Return what a look at a region costs, without its time and travel."""
        cost = self._cost
        own = checked_price(answer(cost, region), f"cost({region.name})") if callable(cost) else cost
        price = float(own + self._overhead)
        if price == 0 and not self.timed:
            fix = "Pass a cost above 0, an overhead or times."
            raise InvalidInput(f"{region.name} costs nothing, and the budget would never be spent", price, fix)
        return price

    def cheapest(self) -> float:
        """Return what the cheapest of some typical looks costs, without travel."""
        space, deepest = self._space, 0
        if callable(self._cost):
            bottom = space.max_depth()
            deepest = min(MOST_DEPTHS, space.default_depth() if bottom is None else bottom)
        nodes = [node for depth in range(deepest + 1) for node in space.representative_cells(depth, TYPICAL_CELLS)]
        return min(self.of_region(space.cell(node)) for node in nodes) + float(self.of_time(self.times.min()))

    def usual(self, budget: float, cheapest: float, chosen: bool) -> float:
        """Return the usual time of a look: the first of `times`, or, if they are `chosen`, one in the middle.

        It is longer where looks have other costs, and short enough to pay for an opening.
        """
        if not chosen:
            return float(self.times[0])
        times = np.sort(self.times)
        besides = cheapest - float(self.of_time(times[0]))
        middle = max(besides, float(times[(times.size - 1) // 2]))
        longest = min(middle, OPENING_SHARE * budget / LEAST_OPENING_CELLS - besides) * (1 + SLACK)
        return float(max(times[times <= longest], default=times[0]))

    def usual_price(self, cheapest: float, time: float) -> float:
        """Return what the cheapest look costs if it takes this time."""
        return cheapest + float(self.of_time(time) - self.of_time(self.times.min()))

    def of_nodes(self, nodes: list[Node]) -> Floats:
        """Return what looks at some nodes cost without their time and travel."""
        return np.array([self._of_node(node) for node in nodes])

    def travel_cost(self, here: Node, nodes: list[Node]) -> Floats:
        """Return what it costs to travel from one node to others."""
        if callable(self._travel):
            return np.array([self._way(here, node) for node in nodes])
        places, start = np.array([self._cell(node).center for node in nodes]), self._cell(here).center
        apart = [axis.apart(places[:, j], start[j]) for j, axis in enumerate(self._space.axes)]
        return np.asarray(self._travel * np.sqrt(np.sum(np.square(apart), axis=0)))

    def _way_between(self, here: Node, there: Node) -> float:
        """Return what the user's function says that it costs to travel from one node to another."""
        start, end = self._cell(here), self._cell(there)
        return checked_price(answer(partial(self._travel, start), end), f"travel({start.name}, {end.name})")

    def tour(self, here: Node | None, nodes: list[Node]) -> tuple[list[int], float]:
        """Return the order of a short tour over nodes, always to the nearest next, and its travel cost."""
        left, order, length = list(range(len(nodes))), list[int](), 0.0
        if self._travel is None:
            return left, 0.0
        while left:
            travel = np.zeros(len(left)) if here is None else self.travel_cost(here, [nodes[at] for at in left])
            nearest = int(np.argmin(travel))
            length += float(travel[nearest])
            order.append(left.pop(nearest))
            here = nodes[order[-1]]
        return order, length

    def looks_of_tour(self, each: float) -> int:
        """Return how many looks, at `each` apiece, cost twice as much as a tour over the whole space."""
        return min(max(round(2 * self._tour_of_all / max(each, 1e-300)), 1), MOST_TOUR_LOOKS)

    @cached_property
    def _tour_of_all(self) -> float:
        space, level = self._space, 0
        while level + 1 < MOST_DEPTHS and space.leaves(level) < space.leaves(level + 1) <= MOST_TOUR_CELLS:
            level += 1
        return self.tour(None, [space.leaf(level, number) for number in range(space.leaves(level))])[1]

    @property
    def travels(self) -> bool:
        """Whether travel has a cost."""
        return self._travel is not None


def paid(asked: Asked, time: float | None) -> float:
    """Return what a trial has cost that really took this time; None if it took the time asked for."""
    return asked.cost if time is None else asked.cost - asked.time + time


def left(budget: float, costs: Iterable[float]) -> float:
    """Return what is left of a budget after these costs; 0 if it is overspent."""
    return max(0.0, math.fsum((budget, *(-cost for cost in costs))))


def answer(function: Callable[[Region], Any], region: Region) -> Any:
    """Call a function of the user's with a region; mark what it raises as the user's error."""
    try:
        return function(region)
    except Exception as error:
        vars(error)["raised_by_user"] = True
        raise
