"""The meaning of a recipe: from a TOML file, or command-line options, to the arguments of `Study`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, fields
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Required, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

import zonal as zn
from zonal._types import Json
from zonal.engine.settings import Direction, Given
from zonal.errors import InvalidInput, check_choice, reject, require, text, whole_number
from zonal.io.recipe_text import Key, Recipe, Words, axis_words, sequence_words
from zonal.io.tables import Table, parse_table, read_table
from zonal.kernels.base import Term
from zonal.policies.deltas import Delta
from zonal.spaces import Space
from zonal.spaces.axis_space import MOST_PARTS
from zonal.spaces.box import SCALES, has_symbols
from zonal.spaces.hierarchy_leaves import check_nested
from zonal.study.region_formats import check_variables

T = TypeVar("T")


class Wanted(Given, total=False):
    """The arguments of `Study` but for the space."""

    budget: Required[float]
    direction: Direction


class Arguments(Wanted, total=False):
    """The arguments of `Study`."""

    space: Required[Space]


DEEPEST, MOST_POINTS_AN_AXIS = 100, 1000  # more is of no use, and could take for ever

SPACES = ("axes", "sequences", "points", "hierarchy")
POLICIES: dict[str, Callable[..., zn.Policy]] = {
    "knowledge gradient": zn.KnowledgeGradient,
    "above": zn.Above,
    "gpoo": zn.GPOO,
    "stooo": zn.StoOO,
    "gptree": zn.GPTree,
    "uniform grid": zn.UniformGrid,
    "random": zn.Random,
    "ucb": zn.UCB,
    "thompson": zn.Thompson,
}
DELTAS: dict[str, Callable[..., Delta]] = {
    "geometric": zn.GeometricDelta,
    "lipschitz": zn.LipschitzDelta,
    "spread": zn.SpreadDelta,
}
KERNELS: dict[str, type[Term]] = {
    "rbf": zn.RBF,
    "matern": zn.Matern,
    "categorical": zn.Categorical,
    "motif": zn.Motif,
}
FEEDBACKS: dict[str, Callable[[], zn.Feedback]] = {"mean": zn.Mean, "center": zn.Center, "beam": zn.Beam}

KEYS: dict[str, tuple[str, ...]] = {
    "sequences": ("alphabet", "length", "order", "frequencies", "smallest"),
    "points": ("table", "decimal", "coords", "weight", "smallest"),
    "hierarchy": ("table", "decimal", "levels", "coords", "weight", "smallest"),
    "measurement": ("name", "unit", "feedback", "target", "noise", "counts", "proportion"),
    "model": ("kernel", "variance", "lengthscale", "nu", "correlation", "lengths", "nugget", "mean"),
}
OTHER_SCALES = {"logarithmic": "log", "int": "integer", "integers": "integer", "lin": "linear", "ring": "periodic"}
AXIS_KEYS = ("low", "high", "unit", "smallest", "scale", "periodic", "symbols", "frequencies")
PRICES = ("cost", "times", "overhead", "travel")  # the settings that give measurements a cost
# Arguments of `Study` as they stand.
PLAIN = ("direction", "max_replicates", "seed", *PRICES, "cost_unit", "offsets", "drift", "gross_errors")
TOP = ("budget", *PLAIN, "arity", "smallest", "forbidden", *SPACES, "measurement", "model", "policy")


def template() -> str:
    """Return a recipe with comments that works as it is."""
    return resources.files("zonal").joinpath("recipe.toml").read_text(encoding="utf-8")


def arguments(recipe: Recipe) -> Arguments:
    """Return the arguments of `Study` that a recipe gives; errors name the key."""
    _check_top(recipe)
    searched = space(recipe)
    return {"space": searched, **settings(recipe, searched)}


def settings(recipe: Recipe, space: Space) -> Wanted:
    """Return the arguments of `Study` that a recipe gives, but for the space, which is made already."""
    _check_top(recipe)
    given: dict[str, Any] = {"budget": recipe.words["budget"], **_measurement(recipe)}
    with recipe.blamed("measurement", "feedback"):
        given.get("feedback", zn.Mean()).check(space)
    with recipe.blamed("measurement", "target"):
        given.get("target", zn.Mean()).check(space)
    given |= _model(recipe)
    if "forbidden" in recipe.words:
        given["forbidden"] = _forbidden(recipe, space)
    if "policy" in recipe.words:
        given["policy"] = _policy(recipe)
    given |= {"rng" if key == "seed" else key: recipe.words[key] for key in PLAIN if key in recipe.words}
    return cast(Wanted, given)


def _check_top(recipe: Recipe) -> None:
    """Raise unless a recipe has a budget, and no section that is not known."""
    recipe.table(recipe.words, (), TOP)
    problem = f"{recipe.source}: a study needs a budget"
    require("budget" in recipe.words, problem, None, "Write for example budget = 60.")


def where(
    axes: Sequence[str] = (),
    sequences: str | None = None,
    table: Path | None = None,
    smallest: Json = None,
    **columns: Json,
) -> Recipe:
    """Return the recipe that command-line options for the space are equivalent to.

    Axes and sequences are as `axis_words` and `sequence_words` read them, the table is one of points or areas with
    its columns for coords, levels and weight. `smallest` is one for all, or one per axis that is not categorical.
    """
    ways = {"--axis": axes, "--sequences": sequences, "a table": table}
    passed = [way for way, option in ways.items() if option]
    fix = f"Pass one of {', '.join(ways)}."
    require(len(passed) == 1, "the space must be given in exactly one way", " and ".join(passed) or "none", fix)
    named = {key: column for key, column in columns.items() if column}
    stray = [f"--{key}" for key in named if table is None]
    reject(stray, "this option needs a table", "Pass a table too, or leave the option out.")
    section, words = _section(axes, sequences, {"table": str(table), **named})
    places: dict[Key, str] = {("smallest",): "--smallest", (section,): passed[0]}
    shared = {} if smallest is None else {"smallest": smallest}
    return Recipe({section: words, **shared}, places, "the options")


def _section(axes: Sequence[str], sequences: str | None, columns: Words) -> tuple[str, Words]:
    if axes:
        return "axes", axis_words(axes)
    if sequences:
        return "sequences", sequence_words(sequences)
    return "hierarchy" if "levels" in columns else "points", columns


def space(recipe: Recipe) -> Space:
    """Return the space that a recipe describes; errors name the key."""
    named = [name for name in SPACES if name in recipe.words]
    problem = f"{recipe.place(tuple(named[1:2]))}: the space must be given exactly once"
    require(len(named) == 1, problem, " and ".join(named) or None, f"Write one of [{'], ['.join(SPACES)}].")
    (kind,) = named
    with recipe.blamed(kind):
        searched = _space(recipe, kind)
        check_variables(searched)
    return searched


def _space(recipe: Recipe, kind: str) -> Space:
    divided, arity = kind in ("axes", "points"), recipe.words.get("arity", 2)
    with recipe.blamed("arity"):
        whole_number(arity, "arity", 2, MOST_PARTS)
        require(divided or "arity" not in recipe.words, f"[{kind}] has no arity", arity, "Leave it out.")
    if kind == "axes":
        return _axes(recipe)
    shared = {key: value for key, value in recipe.words.items() if key == "smallest"}
    words: dict[str, Any] = {**shared, **recipe.section(kind, KEYS[kind])}
    if kind != "sequences":
        return _members(recipe, kind, words)
    _need_keys(kind, words, {"alphabet": "ACGT", "length": 8})
    return zn.Sequences(**words)


def _axes(recipe: Recipe) -> zn.Box | zn.Product:
    written = recipe.table(recipe.words["axes"], ("axes",), None)
    tables = {name: _scaled(words) for name, words in written.items() if isinstance(words, Mapping)}
    axes: dict[str, Any] = {name: _interval(words) for name, words in written.items()}
    axes |= {name: _axis(recipe, name, words) for name, words in tables.items()}

    def by_axis(key: str) -> dict[str, Json]:
        return {name: words[key] for name, words in tables.items() if key in words}

    kind = zn.Product if any(map(has_symbols, axes.values())) or not axes else zn.Box
    smallest: Any = by_axis("smallest") or recipe.words.get("smallest")
    if isinstance(smallest, dict):  # single integers are small enough, unless it is written otherwise
        smallest = {name: 1 for name, scale in by_axis("scale").items() if scale == "integer"} | smallest
    units: Any = by_axis("unit")
    scales: Any = by_axis("scale")
    rings = [name for name, periodic in by_axis("periodic").items() if periodic]
    return kind(axes, recipe.words.get("arity", 2), smallest, units, scales, rings)


def _scaled(words: Words) -> Words:
    """Return the words of an axis with a scale that was written in the unit's place where it belongs."""
    unit = words.get("unit")
    scale = OTHER_SCALES.get(unit.lower(), unit.lower()) if isinstance(unit, str) else None
    if "scale" in words or scale not in SCALES:
        return words
    return {key: value for key, value in words.items() if key != "unit"} | {"scale": scale}


def _axis(recipe: Recipe, name: str, words: Words) -> Json:
    path = ("axes", name)
    recipe.table(words, path, AXIS_KEYS)
    given = {"low", "high", "symbols", "frequencies"} & set(words)
    fix = "Write low and high, or symbols, or frequencies."
    problem = f"{recipe.place(path)}: axis {name} must be given in exactly one way"
    require(given in ({"low", "high"}, {"symbols"}, {"frequencies"}), problem, dict(words), fix)
    if "low" in given:
        text(words.get("unit", ""), f"the unit of axis {name}")
        check_choice(words.get("periodic", False), f"periodic of axis {name}", (True, False))
        return words["low"], words["high"]
    for key in ("unit", "smallest", "scale", "periodic"):
        require(key not in words, f"axis {name} has symbols, and no {key}", words.get(key), "Leave it out.")
    if "symbols" in given:
        symbols = words["symbols"]
        return symbols if isinstance(symbols, list) else [symbols]
    frequencies, fix = words["frequencies"], "Write { red = 2, green = 1 }."
    require(isinstance(frequencies, Mapping), f"frequencies of axis {name} must be a table", frequencies, fix)
    return frequencies


def _interval(words: Json) -> Json:
    """Return two numbers, which TOML has in lists only, as an interval; anything else unchanged."""
    if not isinstance(words, list) or len(words) != 2:
        return words
    return tuple(words) if all(type(end) in (int, float) for end in words) else words


def _need_keys(section: str, words: Words, examples: Words) -> None:
    """Raise if a section lacks a key."""
    for key, example in examples.items():
        fix = f"Write for example {key} = {json.dumps(example)}."
        require(bool(words.get(key)), f"[{section}] needs its {key}", words.get(key), fix)


def _members(recipe: Recipe, kind: str, written: Words) -> zn.Points | zn.Hierarchy:
    words: dict[str, Any] = dict(written)
    needed = {"points": {"coords": ["lon", "lat"]}, "hierarchy": {"levels": ["state", "county"]}}[kind]
    _need_keys(kind, words, {"table": "areas.csv", **needed})
    with recipe.blamed(kind, "table"):
        name, decimal = text(words.pop("table"), "table"), words.pop("decimal", None)
        content = recipe.tables.get(name)
        table = (
            read_table(recipe.folder / name, decimal) if content is None else parse_table(content, name, decimal)
        )
    for key in ("coords", "levels"):
        with recipe.blamed(kind, key):
            words[key] = _texts(words.get(key, []), key)
    with recipe.blamed(kind, "weight"):
        words["weight"] = None if words.get("weight") is None else text(words["weight"], "weight")
    return members(table, arity=recipe.words.get("arity", 2), at=partial(recipe.blamed, kind), **words)


def members(
    table: Table,
    coords: Sequence[str] = (),
    levels: Sequence[str] = (),
    weight: str | None = None,
    smallest: float | None = None,
    arity: int = 2,
    at: Callable[[str], AbstractContextManager[str | None]] = nullcontext,
) -> zn.Points | zn.Hierarchy:
    """Return the space of a table's rows, each a smallest part.

    `levels`, columns of names or codes from the coarsest to the finest, make a `Hierarchy`, and `coords`, columns
    of features, its features, or else `Points`. `weight` is a column too. `at` turns the name of such an argument
    into a context that adds to an error where that was written.
    """
    with at("weight"):
        weights = None if weight is None else positive(table, weight)
    with at("coords"):
        features = {name: table.numbers(name) for name in coords}
    if not levels:
        require(coords, "a table needs columns that locate its rows", None, "Name coords, levels or sequence.")
        return zn.Points(features, weights, arity, smallest)
    with at("levels"):
        names = {name: table.texts(name) for name in levels}
        check_nested(names, first=1)
    together = np.stack(list(features.values()), axis=1) if features else None
    return zn.Hierarchy.from_table(names, together, weights, smallest, tuple(coords) or None)


def positive(table: Table, weight: str) -> NDArray[np.float64]:
    """Return a column of weights; raise at the first that is not positive."""
    weights = table.numbers(weight)
    if not (weights > 0).all():
        row = int(np.flatnonzero(weights <= 0)[0])
        problem = f"column {weight} must be positive, but not in row {row + 1}"
        raise InvalidInput(problem, float(weights[row]), "Leave such rows out.")
    return weights


def _forbidden(recipe: Recipe, space: Space) -> list[zn.Region]:
    """Return the forbidden regions, given as text or as tables of their parts."""
    words = recipe.words["forbidden"]
    with recipe.blamed("forbidden"):
        regions = []
        for region in words if isinstance(words, list) else [words]:
            written = isinstance(region, str | Mapping) and region
            require(written, "a forbidden region must be text", region, "Write it as for `zonal observe`.")
            regions.append(space.region(space.from_text(region) if isinstance(region, str) else region))
        return regions


def _measurement(recipe: Recipe) -> Given:
    words = recipe.section("measurement", KEYS["measurement"])
    given: Given = {}
    with recipe.blamed("measurement"):
        if "name" in words:
            given["value_name"] = text(words["name"], "name")
        if "unit" in words:
            given["value_unit"] = text(words["unit"], "unit")
        if "noise" in words:
            given["noise"] = _noise(recipe, words["noise"])
        if "counts" in words or "proportion" in words:
            given["likelihood"] = _likelihood(recipe, words)
        if "feedback" in words:
            given["feedback"] = _feedback(recipe, words["feedback"])
        if "target" in words:
            given["target"] = _feedback(recipe, words["target"], "target")
    return given


def _likelihood(recipe: Recipe, words: Words) -> zn.Counts | zn.Proportion:
    fix = "Write counts = 10 (the exposure), counts = { per_weight = 10 }, or proportion = 20 (the cases)."
    require("counts" not in words or "proportion" not in words, "readings are counts or proportions", words, fix)
    if "proportion" in words:
        n: Any = words["proportion"]
        return zn.Proportion(n)
    exposure: Any = words["counts"]
    if not isinstance(exposure, Mapping):
        return zn.Counts(exposure)
    recipe.table(exposure, ("measurement", "counts"), ("per_weight",))
    require("per_weight" in exposure, "counts must be an exposure, or one per weight", dict(exposure), fix)
    return zn.Counts(exposure["per_weight"], per_weight=True)


def _noise(recipe: Recipe, words: Json) -> float | zn.PerWeight:
    if not isinstance(words, Mapping):
        return words  # type: ignore[return-value]  # what is no number is refused where it is used
    recipe.table(words, ("measurement", "noise"), ("per_weight",))
    fix = "Write { per_weight = 0.5 }."
    require("per_weight" in words, "noise must be a number or per weight", dict(words), fix)
    std: Any = words["per_weight"]
    return zn.PerWeight(None if std == "learned" else std)


def _feedback(recipe: Recipe, words: Json, key: str = "feedback") -> zn.Feedback:
    path = ("measurement", key)
    if not isinstance(words, Mapping):
        return recipe.choice(words, path, FEEDBACKS)()
    recipe.table(words, path, ("average", "beam", "beam_share"))
    fix = "Write one of average = 4, beam = 0.5 and beam_share = 0.5."
    require(len(words) == 1, "a feedback must be given in exactly one way", dict(words), fix)
    kind: str
    value: Any
    ((kind, value),) = words.items()
    if kind == "average":
        return zn.Average(whole_number(value, "average", 1, MOST_POINTS_AN_AXIS))
    return zn.Beam(value) if kind == "beam" else zn.Beam(share=value)


def _model(recipe: Recipe) -> Given:
    words: dict[str, Any] = recipe.section("model", KEYS["model"])
    given: Given = {"mean": words.pop("mean")} if "mean" in words else {}
    if not words:
        return given
    with recipe.blamed("model"):
        require("kernel" in words, "[model] needs its kernel", None, f"Write one of {', '.join(KERNELS)}.")
        kind = recipe.choice(words.pop("kernel"), ("model", "kernel"), KERNELS)
        if not words:  # its parameters are learned
            return {**given, "kernel": kind}
        mixed = kind not in (zn.Categorical, zn.Motif) and "correlation" in words
        symbols = zn.Categorical(1.0, words.pop("correlation")) if mixed else None
        nugget = zn.Nugget(words.pop("nugget")) if "nugget" in words else None
        kernel: Any = _constructed(recipe, kind, words, ("model",))
        kernel = kernel if symbols is None else kernel * symbols
        return {**given, "kernel": kernel if nugget is None else kernel + nugget}


def _policy(recipe: Recipe) -> zn.Policy:
    words = recipe.table(recipe.words["policy"], ("policy",), None)
    with recipe.blamed("policy"):
        kind = _kind(recipe, words, ("policy", "name"), POLICIES)
        for key in ("h_max", "level"):
            whole_number(words.get(key, 0), key, 0, DEEPEST)
        if "delta" in words:
            path = ("policy", "delta")
            delta = recipe.table(words["delta"], path, None)
            function = _constructed(recipe, _kind(recipe, delta, (*path, "kind"), DELTAS), delta, path)
            return _constructed(recipe, kind, words, ("policy",), delta=function)
        return _constructed(recipe, kind, words, ("policy",))


def _kind(recipe: Recipe, words: dict[str, Json], path: Key, kinds: Mapping[str, T]) -> T:
    """Return the class named by the last key of `path` in `words`, and remove that key."""
    *_, section, key = path
    require(key in words, f"{section} needs its {key}", words, f"Write one of {', '.join(kinds)}.")
    return recipe.choice(words.pop(key), path, kinds)


def _constructed(recipe: Recipe, kind: Callable[..., T], words: Words, path: Key, **ready: Delta) -> T:
    """Return an instance of a class from its fields; raise at an unknown or missing one."""
    parts = fields(kind)  # type: ignore[arg-type]  # all of them are dataclasses
    recipe.table(words, path, [part.name for part in parts])
    needed = [part for part in parts if part.default is MISSING and part.default_factory is MISSING]
    for name in (part.name for part in needed):
        fix = f"Write {name} = ... in [{'.'.join(path)}]."
        require(name in words, f"{recipe.place(path)}: {kind.__name__} needs its {name}", dict(words), fix)
    return kind(**{**words, **ready})


def _texts(words: Json, name: str) -> Sequence[str]:
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise InvalidInput(f"{name} must be a list of names", words, 'Write for example ["lon", "lat"].')
    require(len(set(words)) == len(words), f"{name} has a name twice", words, "Name each column once.")
    return tuple(words)
