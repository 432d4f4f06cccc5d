"""A study in words: a TOML file, or options of a command line, to the arguments of `Study`.

What is written is kept beside where it is written, so that whatever is wrong, and whoever notices it, the message
names the line. This room must not know files of studies.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from zonal.errors import InvalidInput, whole_number
from zonal.feedback import Average, Center, Feedback, Mean
from zonal.kernels import RBF, Categorical, Matern
from zonal.policies.baselines import UCB, Random, Thompson, UniformGrid
from zonal.policies.gptree import GPTree
from zonal.policies.knowledge import KnowledgeGradient
from zonal.policies.optimistic import GPOO, StoOO
from zonal.problems import PerWeight
from zonal.spaces import Box, Hierarchy, Points, Product, Sequences
from zonal.tables import read_table
from zonal.theory import GeometricDelta, LipschitzDelta, SpreadDelta

Path_ = tuple[str, ...]

LARGEST_WHOLE = 2**63  # TOML's own limit
# Beyond these nothing is of use, and much would take for ever.
MOST_PARTS, DEEPEST, LONGEST, MOST_POINTS_AN_AXIS = 100, 100, 1000, 1000

SPACES = ("axes", "sequences", "points", "hierarchy")
POLICIES = {
    "knowledge gradient": KnowledgeGradient,
    "gpoo": GPOO,
    "stooo": StoOO,
    "gptree": GPTree,
    "uniform grid": UniformGrid,
    "random": Random,
    "ucb": UCB,
    "thompson": Thompson,
}
DELTAS: dict[str, Any] = {"geometric": GeometricDelta, "lipschitz": LipschitzDelta, "spread": SpreadDelta}
KERNELS: dict[str, Any] = {"rbf": RBF, "matern": Matern, "categorical": Categorical}
FEEDBACKS: dict[str, Callable[[], Feedback]] = {"mean": Mean, "center": Center}

KEYS: dict[str, tuple[str, ...]] = {
    "sequences": ("alphabet", "length", "order", "frequencies", "smallest"),
    "points": ("table", "coords", "weight", "smallest"),
    "hierarchy": ("table", "levels", "coords", "weight", "smallest"),
    "measurement": ("name", "unit", "feedback", "noise"),
    "model": ("kernel", "variance", "lengthscale", "nu", "correlation", "mean"),
}
AXIS_KEYS = ("low", "high", "unit", "smallest", "symbols", "frequencies")
TOP = ("budget", "direction", "max_looks", "seed", "arity", *SPACES, "measurement", "model", "policy")


def template() -> str:
    """Return a recipe with remarks that works as it stands."""
    return resources.files("zonal").joinpath("recipe.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Recipe:
    """What somebody wrote about a study, and where.

    Attributes
    ----------
    words : mapping
        Sections of keys and values.
    places : mapping of path to str
        Where a key is written, such as ``"line 7 of sky.toml"``.
    source : str
        Where all of it is written.
    folder : Path
        From which the names of tables start.
    """

    words: Mapping[str, Any]
    places: Mapping[Path_, str] = field(default_factory=dict)
    source: str = "the recipe"
    folder: Path = Path()

    def place(self, path: Path_) -> str:
        """Return where a key is written, or what it is in."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.source)

    @contextmanager
    def blamed(self, *path: str) -> Iterator[None]:
        """Add to a complaint where that is written: the key under `path` that it names, or all of `path`."""
        try:
            yield
        except InvalidInput as error:
            said = str(error)
            if not said.startswith((self.source, *self.places.values())):
                named = [own for own in self.places if own[: len(path)] == path and len(own) > len(path)]
                named = [own for own in named if re.search(rf"\b{re.escape(own[-1])}\b", said)]
                error.args = (f"{self.place(max(named, key=lambda own: len(own[-1]), default=path))}: {said}",)
            raise

    def section(self, name: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return a section, empty if it is not there, all of its keys known."""
        words = self.words.get(name, {})
        self.table(words, (name,), keys)
        return dict(words)

    def table(self, words: Any, path: Path_, keys: Sequence[str] | None) -> None:
        """Complain unless `words` is a table, and of the first key that is not among `keys`."""
        if not isinstance(words, Mapping):
            with self.blamed(*path):
                raise InvalidInput(
                    f"[{'.'.join(path)}] must be a table", words, "Write its keys below the header."
                )
        for key in words:
            if keys is not None and key not in keys:
                raise self.unknown(
                    (*path, key), f"[{'.'.join(path)}] has no such key" if path else "no such key", keys
                )

    def unknown(self, path: Path_, problem: str, known: Sequence[str]) -> InvalidInput:
        """Return the complaint about a word that is not among the known ones."""
        word = path[-1]
        close = difflib.get_close_matches(str(word).lower(), known, n=1)
        guess = f"Did you mean {close[0]!r}? " if close else ""
        return InvalidInput(f"{self.place(path)}: {problem}", word, f"{guess}There are {', '.join(known)}.")

    def choice(self, word: Any, path: Path_, choices: Mapping[str, Any]) -> Any:
        """Return what a word stands for."""
        if not isinstance(word, str) or word.lower() not in choices:
            raise self.unknown((*path, word), f"{path[-1]} is not known", tuple(choices))
        return choices[word.lower()]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Study`."""
        self.table(self.words, (), TOP)
        if "budget" not in self.words:
            raise InvalidInput(f"{self.source}: a study needs a budget", None, "Write for example budget = 60.")
        given: dict[str, Any] = {"space": self._space(), "budget": self.words["budget"], **self._measurement()}
        with self.blamed("measurement", "feedback"):
            given.get("feedback", Mean()).check(given["space"])
        given |= self._model()
        if "policy" in self.words:
            given["policy"] = self._policy()
        for key, name in (("direction", "direction"), ("max_looks", "max_looks"), ("seed", "rng")):
            if key in self.words:
                given[name] = self.words[key]
        return given

    def _space(self) -> Any:
        named = [name for name in SPACES if name in self.words]
        if len(named) != 1:
            shown, fix = " and ".join(named) or None, f"Write one of {', '.join(f'[{name}]' for name in SPACES)}."
            raise InvalidInput(f"{self.place(tuple(named[1:2]))}: where to look is said once", shown, fix)
        kind = named[0]
        if "arity" in self.words:
            with self.blamed("arity"):
                _at_most(whole_number(self.words["arity"], "arity", 2), "arity", MOST_PARTS)
                if kind not in ("axes", "points"):
                    raise InvalidInput(f"[{kind}] has no arity", self.words["arity"], "Leave it out.")
        with self.blamed(kind):
            if kind == "axes":
                return self._axes()
            words = self.section(kind, KEYS[kind])
            return self._sequences(words) if kind == "sequences" else self._members(kind, words)

    def _axes(self) -> Box | Product:
        self.table(self.words["axes"], ("axes",), None)
        axes: dict[str, Any] = {}
        smallest, units = {}, {}
        for name, words in self.words["axes"].items():
            axes[name] = words
            if isinstance(words, Mapping):
                axes[name] = self._axis(name, words)
                smallest |= {name: words["smallest"]} if "smallest" in words else {}
                units |= {name: words["unit"]} if "unit" in words else {}
        lines = all(
            isinstance(axis, list | tuple) and not any(isinstance(x, str) for x in axis) for axis in axes.values()
        )
        kind: Any = Box if lines and axes else Product
        return kind(axes, self.words.get("arity", 2), smallest or None, units or None)

    def _axis(self, name: str, words: Mapping[str, Any]) -> Any:
        path = ("axes", name)
        self.table(words, path, AXIS_KEYS)
        kinds = [
            keys for keys in (("low", "high"), ("symbols",), ("frequencies",)) if any(key in words for key in keys)
        ]
        if len(kinds) != 1 or any(key not in words for key in kinds[0]):
            fix = "Write low and high, or symbols, or frequencies."
            raise InvalidInput(f"{self.place(path)}: axis {name} must be said in one way", dict(words), fix)
        if kinds[0] == ("low", "high"):
            _text(words.get("unit", ""), f"the unit of axis {name}")
            return words["low"], words["high"]
        stray = [key for key in ("unit", "smallest") if key in words]
        if stray:
            raise InvalidInput(f"axis {name} has symbols, and no {stray[0]}", words[stray[0]], "Leave it out.")
        if "symbols" in words:
            return words["symbols"] if isinstance(words["symbols"], list) else [words["symbols"]]
        if not isinstance(words["frequencies"], Mapping):
            fix = "Write { red = 2, green = 1 }."
            raise InvalidInput(f"frequencies of axis {name} must be a table", words["frequencies"], fix)
        return words["frequencies"]

    def _sequences(self, words: dict[str, Any]) -> Sequences:
        missing = [key for key in ("alphabet", "length") if key not in words]
        if missing:
            raise InvalidInput(f"[sequences] needs its {missing[0]}", None, f"Write {missing[0]} = ...")
        _at_most(whole_number(words["length"], "length", 1), "length", LONGEST)
        return Sequences(**words)

    def _members(self, kind: str, words: dict[str, Any]) -> Points | Hierarchy:
        if "table" not in words:
            raise InvalidInput(f"[{kind}] needs its table", None, 'Write for example table = "areas.csv".')
        with self.blamed(kind, "table"):
            table = read_table(self.folder / _text(words["table"], "table"))
        weight = words.get("weight")
        weights = None if weight is None else table.numbers(_text(weight, "weight"))
        coords = {name: table.numbers(name) for name in _texts(words.get("coords", []), "coords")}
        smallest = words.get("smallest")
        if kind == "points":
            if not coords:
                raise InvalidInput("[points] needs coords", None, 'Write for example coords = ["lon", "lat"].')
            return Points(coords, weights, self.words.get("arity", 2), smallest)
        levels = {name: table.texts(name) for name in _texts(words.get("levels", []), "levels")}
        if not levels:
            raise InvalidInput("[hierarchy] needs levels", None, 'Write for example levels = ["state", "county"].')
        features = np.stack(list(coords.values()), axis=1) if coords else None
        return Hierarchy.from_table(levels, features, weights, smallest, tuple(coords) or None)

    def _measurement(self) -> dict[str, Any]:
        words = self.section("measurement", KEYS["measurement"])
        given: dict[str, Any] = {}
        with self.blamed("measurement"):
            for key, name in (("name", "value_name"), ("unit", "value_unit")):
                if key in words:
                    given[name] = _text(words[key], key)
            if "noise" in words:
                given["noise"] = self._noise(words["noise"])
            if "feedback" in words:
                given["feedback"] = self._feedback(words["feedback"])
        return given

    def _noise(self, words: Any) -> Any:
        if not isinstance(words, Mapping):
            return words
        self.table(words, ("measurement", "noise"), ("per_weight",))
        return PerWeight(words.get("per_weight"))  # type: ignore[arg-type]

    def _feedback(self, words: Any) -> Feedback:
        path = ("measurement", "feedback")
        if not isinstance(words, Mapping):
            found: Callable[[], Feedback] = self.choice(words, path, FEEDBACKS)
            return found()
        self.table(words, path, ("average",))
        average = Average(words.get("average"))  # type: ignore[arg-type]
        _at_most(average.s, "average", MOST_POINTS_AN_AXIS)
        return average

    def _model(self) -> dict[str, Any]:
        words = self.section("model", KEYS["model"])
        given = {"mean": words.pop("mean")} if "mean" in words else {}
        if not words:
            return given
        with self.blamed("model"):
            if "kernel" not in words:
                raise InvalidInput("[model] needs its kernel", None, f"Write one of {', '.join(KERNELS)}.")
            given["kernel"] = self._kernel(self.choice(words.pop("kernel"), ("model", "kernel"), KERNELS), words)
        return given

    def _kernel(self, kind: Any, words: dict[str, Any]) -> Any:
        """Return a kernel, or its class if nothing is said of it."""
        if not words:
            return kind
        mixed = kind is not Categorical and "correlation" in words
        correlation = words.pop("correlation") if mixed else None
        known = [own.name for own in fields(kind)]
        for key in words:
            if key not in known:
                fix = f"It has {', '.join(known)}."
                raise InvalidInput(f"{self.place(('model', key))}: this kernel has no {key}", words[key], fix)
        missing = [key for key in known if key not in words and key != "nu"]
        if missing:
            fix = f"Write {missing[0]} = ..., or the kernel alone."
            raise InvalidInput(f"a kernel that is given needs its {missing[0]}", words, fix)
        kernel = kind(**words)
        return kernel * Categorical(1.0, correlation) if mixed else kernel  # type: ignore[arg-type]

    def _policy(self) -> Any:
        words = self.section("policy", self._policy_keys())
        kind = self.choice(words.pop("name"), ("policy", "name"), POLICIES)
        with self.blamed("policy"):
            for key in ("h_max", "level"):
                if key in words:
                    _at_most(whole_number(words[key], key, 0), key, DEEPEST)
            if "delta" in words:
                words["delta"] = self._delta(words["delta"])
            elif kind is StoOO:
                raise InvalidInput(
                    "this policy needs its delta", None, 'Write delta = { kind = "geometric", c = 14 }.'
                )
            return kind(**words)

    def _policy_keys(self) -> list[str]:
        words = self.words["policy"]
        self.table(words, ("policy",), None)
        if "name" not in words:
            problem = f"{self.place(('policy',))}: a policy needs a name"
            raise InvalidInput(problem, None, f"Write one of {', '.join(POLICIES)}.")
        return ["name", *(own.name for own in fields(self.choice(words["name"], ("policy", "name"), POLICIES)))]

    def _delta(self, words: Any) -> Any:
        path = ("policy", "delta")
        self.table(words, path, None)
        if "kind" not in words:
            raise InvalidInput("delta needs its kind", dict(words), f"Write one of {', '.join(DELTAS)}.")
        kind = self.choice(words["kind"], (*path, "kind"), DELTAS)
        self.table(words, path, ["kind", *(own.name for own in fields(kind))])
        if kind is GeometricDelta and "c" not in words:
            raise InvalidInput("a geometric delta needs its c", dict(words), "Write for example c = 14.")
        return kind(**{key: own for key, own in words.items() if key != "kind"})


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a TOML file, or complain with the line."""
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput("there is no such file", str(path), "Check the path.") from None
    except OSError as error:
        raise InvalidInput(f"the recipe cannot be read ({error.strerror})", str(path), "Check the path.") from None
    except UnicodeDecodeError:
        raise InvalidInput("the recipe is not UTF-8 text", str(path), "Save it anew, encoded in UTF-8.") from None
    return parse_recipe(text, file.name, file.parent)


def parse_recipe(text: str, name: str = "recipe", folder: Path = Path()) -> Recipe:
    """Return a recipe from its text, or complain with the line."""
    places = {path: f"line {line} of {name}" for path, line in _lines(text).items()}
    try:
        words = tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply", "[[[...", "Write plain lists and tables.") from None
    except ValueError as error:  # of TOML, or of a number that is too long
        raise _not_toml(text, name, error) from None
    recipe = Recipe(words, places, name, folder)
    _check_values(recipe, words, ())
    return recipe


def _not_toml(text: str, name: str, error: ValueError) -> InvalidInput:
    what, _, where = str(error).partition(" (at ")
    found = re.match(r"line (\d+)", where)
    lines = text.splitlines() or [""]
    line = min(int(found[1]) if found else len(lines), len(lines))
    fix = "Write key = value; texts need quotation marks, and `zonal new --template` shows how it looks."
    return InvalidInput(f"line {line} of {name}: {what[:1].lower()}{what[1:]}", lines[line - 1].strip(), fix)


def _check_values(recipe: Recipe, words: Any, path: Path_) -> None:
    """Complain of whole numbers beyond TOML's own limit; not every reader of TOML does."""
    if isinstance(words, Mapping):
        for key, own in words.items():
            _check_values(recipe, own, (*path, key))
    elif isinstance(words, list):
        for own in words:
            _check_values(recipe, own, path)
    elif isinstance(words, int) and not -LARGEST_WHOLE <= words < LARGEST_WHOLE:
        fix = "Pass one of 64 bits."
        raise InvalidInput(f"{recipe.place(path)}: a whole number is too large", hex(words)[:20] + "...", fix)


HEADER = re.compile(r"\s*\[+(?P<key>[^\]]+)\]")
KEY = re.compile(r"""\s*(?P<key>(?:[\w.-]|\s*\.\s*|"[^"]*"|'[^']*')+?)\s*=""")


def _lines(text: str) -> dict[Path_, int]:
    """Return the line at which each key is written, as far as lines tell; the first, if there are several."""
    lines: dict[Path_, int] = {}
    section: Path_ = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            section = _key(header["key"])
            lines.setdefault(section, number)
        elif key := KEY.match(line):
            lines.setdefault((*section, *_key(key["key"])), number)
    return lines


def _key(written: str) -> Path_:
    """Return a key, which may have dots and quotation marks, as its parts."""
    parts: list[str] = []
    try:
        words = tomllib.loads(f"{written} = 0")
    except (ValueError, RecursionError):
        return (written.strip(),)
    while isinstance(words, dict):
        parts.append(next(iter(words)))
        words = words[parts[-1]]
    return tuple(parts)


AXIS = re.compile(r"(?P<name>[^=]+)=(?P<low>.+?)\.\.(?P<high>[^:]+)(?::(?P<unit>.*))?")
SYMBOLS = re.compile(r"(?P<name>[^=]+)=(?P<symbols>[^=]*,[^=]*)")


def axis_words(texts: Sequence[str]) -> dict[str, Any]:
    """Return axes as they are written on a command line: ``l=-180..180:deg``, ``dye=red,green``."""
    axes: dict[str, Any] = {}
    for text in texts:
        line, symbols = AXIS.fullmatch(text), SYMBOLS.fullmatch(text)
        if line is None and symbols is None:
            raise InvalidInput(
                "an axis is a name and two numbers, or a name and symbols",
                text,
                "Write l=-180..180:deg or dye=red,green.",
            )
        name = (line or symbols)["name"].strip()  # type: ignore[index]
        if name in axes:
            raise InvalidInput("an axis is named twice", text, "Give each its own name.")
        if line is None:
            axes[name] = {"symbols": [symbol.strip() for symbol in symbols["symbols"].split(",")]}  # type: ignore[index]
            continue
        try:
            axes[name] = {
                "low": float(line["low"]),
                "high": float(line["high"]),
                "unit": (line["unit"] or "").strip(),
            }
        except ValueError:
            raise InvalidInput("the bounds of an axis are numbers", text, "Write l=-180..180:deg.") from None
    return axes


def sequence_words(text: str) -> dict[str, Any]:
    """Return sequences as they are written on a command line: ``ACGT,8``."""
    alphabet, comma, length = text.rpartition(",")
    if not comma or not re.fullmatch(r"\s*[0-9]{1,9}\s*", length):
        raise InvalidInput("sequences are an alphabet and a length", text, "Write ACGT,8.")
    return {"alphabet": alphabet.strip(), "length": int(length)}


def _at_most(number: int, name: str, most: int) -> None:
    if number > most:
        raise InvalidInput(f"{name} is too large", number, f"Pass {most} at most.")


def _text(words: Any, name: str) -> str:
    if not isinstance(words, str):
        raise InvalidInput(f"{name} must be text", words, "Put it in quotation marks.")
    return words


def _texts(words: Any, name: str) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(own, str) for own in words):
        raise InvalidInput(f"{name} must be a list of names", words, 'Write for example ["lon", "lat"].')
    if len(set(words)) < len(words):
        raise InvalidInput(f"{name} has a name twice", words, "Name each column once.")
    return words
