"""What measurements cost: region, time and travel, in the user's unit.

What the user's functions return is cached by node. They are called when a measurement is decided on, never when a
history is read: a trial stores its cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from zonal._types import Floats
from zonal.engine.events import Asked
from zonal.errors import InvalidInput, finite_number, listed, positive_number, require
from zonal.spaces import AxisSpace, ContinuousAxis, Node, Region, Space

if TYPE_CHECKING:
    from zonal.engine.settings import Settings

T = TypeVar("T")

MIN_DESIGN_CELLS = 8
INITIAL_SHARE = 0.4  # of the budget
MAX_ROUTE_CELLS, MAX_ROUTE_LENGTH = 16, 32  # cells of the route that sets its length; measurements of one route
TYPICAL_CELLS, MAX_DEPTHS = 4, 16  # cells of each depth, and depths, at which the user's cost is evaluated
LARGEST_COST = 1e100
SLACK = 1e-9  # of the budget: smaller differences are rounding


def checked_times(times: Sequence[float] | None, name: str) -> tuple[float, ...]:
    """Check the times to choose from, and return them."""
    if times is None:
        return ()
    fix = "Pass a list of times above 0, such as [1, 2, 4, 8]."
    checked = tuple(positive_number(time, "a time") for time in listed(times, f"{name} must be a list", fix))
    require(len(set(checked)) == len(checked), f"{name} must differ from each other", times, fix)
    fits = all(1 / LARGEST_COST <= time <= LARGEST_COST for time in checked)
    require(fits, f"{name} are too short or too long to be compared", times, "Use another unit.")
    return checked


def checked_price(value: float, name: str) -> float:
    """Check a cost, and return it."""
    number = finite_number(value, name)
    require(number >= 0, f"{name} must not be negative", value, "Pass 0 or more.")
    require(number <= LARGEST_COST, f"{name} is too large to add up", value, f"Pass {LARGEST_COST:g} at most.")
    return number


def checked_travel(travel: float, name: str, space: Space) -> float:
    """Check the cost of travel per unit of distance, and return it."""
    number = checked_price(travel, name)
    fix = "Pass a function of two regions."
    require(space.continuous, "this space has no distances of its own", travel, fix)
    units = cast(AxisSpace, space).units
    listed_units = ", ".join(unit or "none" for unit in units)
    problem = f"axes of different units ({listed_units}) have no common distance for travel"
    fix = "Give all axes one unit, or pass a function of two regions that returns the cost of travel."
    require(len(set(units)) == 1, problem, travel, fix)
    return number


class Prices:
    """What measurements cost in one study."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._space = settings.space
        self.time_has_cost = bool(settings.times)  # whether measurements cost their time
        self._cost = float(not self.time_has_cost) if settings.cost is None else settings.cost
        self._travel, self._overhead = settings.travel, settings.overhead
        self.times = np.array(settings.times or (1.0,))  # to choose from; 1 alone where times are not chosen
        self._cell = cache(partial(self._space.cell, feedback=settings.feedback))
        self._cost_of_node = cache(lambda node: self.region_cost(self._cell(node)))
        self._travel_between = cache(self._travel_of_user)

    def __reduce__(self) -> tuple[type[Prices], tuple[Settings]]:
        """Copy and pickle without what was computed."""
        return Prices, (self._settings,)

    def time_cost(self, time: float) -> float:
        """Return what a time costs."""
        return time if self.time_has_cost else 0.0

    def region_cost(self, region: Region) -> float:
        """Return what a measurement of a region costs, without its time and travel."""
        cost = self._cost
        cost_of_region = checked_price(answer(cost, region), f"cost({region.name})") if callable(cost) else cost
        price = float(cost_of_region + self._overhead)
        if price == 0 and not self.time_has_cost:
            fix = "Pass a cost above 0, an overhead or times."
            raise InvalidInput(f"{region.name} costs nothing, and the budget would never be spent", price, fix)
        return price

    def cheapest(self) -> float:
        """Return what the cheapest of some typical measurements costs, without travel."""
        space, deepest = self._space, 0
        if callable(self._cost):
            bottom = space.max_depth()
            deepest = min(MAX_DEPTHS, space.partition.default_depth() if bottom is None else bottom)
        nodes = [
            node
            for depth in range(deepest + 1)
            for node in space.partition.representative_cells(depth, TYPICAL_CELLS)
        ]
        return min(self.region_cost(space.cell(node)) for node in nodes) + float(self.time_cost(self.times.min()))

    def default_time(self, budget: float, cheapest: float, chosen: bool) -> float:
        """Return the default time of a measurement: the first of `times`, or a middle one if they are `chosen`.

        It is longer where measurements have other costs, and short enough to pay for an initial design.
        """
        if not chosen:
            return float(self.times[0])
        times = np.sort(self.times)
        besides = cheapest - float(self.time_cost(times[0]))
        middle = max(besides, float(times[(times.size - 1) // 2]))
        longest = min(middle, INITIAL_SHARE * budget / MIN_DESIGN_CELLS - besides) * (1 + SLACK)
        return float(max(times[times <= longest], default=times[0]))

    def default_cost(self, cheapest: float, time: float) -> float:
        """Return what the cheapest measurement costs if it takes this time."""
        return cheapest + float(self.time_cost(time) - self.time_cost(self.times.min()))

    def node_costs(self, nodes: list[Node]) -> Floats:
        """Return what measurements of some nodes cost without their time and travel."""
        return np.array([self._cost_of_node(node) for node in nodes])

    def travel_costs(self, origin: Node, nodes: list[Node]) -> Floats:
        """Return what it costs to travel from one node to others."""
        if callable(self._travel):
            return np.array([self._travel_between(origin, node) for node in nodes])
        places, start = np.array([self._cell(node).center for node in nodes]), self._cell(origin).center
        axes = cast(tuple[ContinuousAxis, ...], self._space.axes)
        distances = [axis.apart(places[:, j], start[j]) for j, axis in enumerate(axes)]
        return np.asarray((self._travel or 0.0) * np.sqrt(np.sum(np.square(distances), axis=0)))

    def _travel_of_user(self, origin: Node, destination: Node) -> float:
        """Return what the user's function says that it costs to travel from one node to another."""
        start, end, travel = self._cell(origin), self._cell(destination), self._travel
        assert callable(travel)
        return checked_price(answer(partial(travel, start), end), f"travel({start.name}, {end.name})")

    def route(self, location: Node | None, nodes: list[Node]) -> tuple[list[int], float]:
        """Return the order of a short route over nodes, always to the nearest next, and its travel cost."""
        left, order, length = list(range(len(nodes))), list[int](), 0.0
        if self._travel is None:
            return left, 0.0
        while left:
            travel = (
                np.zeros(len(left))
                if location is None
                else self.travel_costs(location, [nodes[at] for at in left])
            )
            nearest = int(np.argmin(travel))
            length += float(travel[nearest])
            order.append(left.pop(nearest))
            location = nodes[order[-1]]
        return order, length

    def route_length(self, cost: float) -> int:
        """Return how many measurements, at `cost` apiece, cost twice as much as a route over the whole space."""
        return min(max(round(2 * self._route_of_all / max(cost, 1e-300)), 1), MAX_ROUTE_LENGTH)

    @cached_property
    def _route_of_all(self) -> float:
        space, level = self._space, 0
        while (
            level + 1 < MAX_DEPTHS
            and space.partition.leaves(level) < space.partition.leaves(level + 1) <= MAX_ROUTE_CELLS
        ):
            level += 1
        return self.route(
            None, [space.partition.leaf(level, number) for number in range(space.partition.leaves(level))]
        )[1]

    @property
    def travel_has_cost(self) -> bool:
        """Whether travel has a cost."""
        return self._travel is not None


def paid(asked: Asked, time: float | None) -> float:
    """Return what a trial has cost that really took this time; None if it took the time asked for."""
    return asked.cost if time is None else asked.cost - asked.time + time


def left(budget: float, costs: Iterable[float]) -> float:
    """Return what is left of a budget after these costs; 0 if it is overspent."""
    return max(0.0, math.fsum((budget, *(-cost for cost in costs))))


def answer(function: Callable[[Region], T], region: Region) -> T:
    """Call a user-defined function with a region; mark what it raises as the user's error."""
    try:
        return function(region)
    except Exception as error:
        vars(error)["raised_by_user"] = True
        raise
