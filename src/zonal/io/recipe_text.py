"""Settings as somebody wrote them, in a TOML file or in options, with where each is written.

Whatever is wrong with them, the error names the key by its path. This module must not know what the keys mean.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from zonal._types import Json
from zonal.errors import InvalidInput, require
from zonal.io.files import content_of, file_path, parsed, text_of
from zonal.io.hints import guess

Key = tuple[str, ...]  # path of a key in nested tables
Words = Mapping[str, Json]  # keys and values (a date of TOML is refused where it is read, since no key takes one)
T = TypeVar("T")

LARGEST_WHOLE = 2**63  # TOML's own limit


@dataclass(frozen=True)
class Recipe:
    """Settings as somebody wrote them, and where."""

    words: Mapping[str, Any]  # sections of keys and values: `Words`, whose keys say of which type each is
    places: Mapping[Key, str] = field(default_factory=dict)  # of keys that come from options, such as "--noise"
    source: str = "the recipe"  # where all of it is written
    folder: Path = Path()  # that names of tables are relative to
    tables: Mapping[str, str] = field(default_factory=dict)  # contents of tables that came with it, by name

    def place(self, path: Key) -> str:
        """Return where a key, or else the table that would hold it, is written: ``sky.toml, axes.x.smallest``."""
        written = {(), *(key for key, _ in self.entries())}
        while path not in self.places and path not in written:
            path = path[:-1]
        options = (self.places[path[:stop]] for stop in range(len(path), 0, -1) if path[:stop] in self.places)
        return next(options, f"{self.source}, {'.'.join(path)}" if path else self.source)

    def entries(self) -> Iterator[tuple[Key, Json]]:
        """Yield the path of every key, and its value; the entries of a list have the path of the list."""
        waiting: list[tuple[Key, Json]] = [((), self.words)]
        while waiting:
            path, value = waiting.pop()
            if path:
                yield path, value
            if isinstance(value, Mapping):
                waiting += [((*path, str(key)), part) for key, part in value.items()]
            elif isinstance(value, list):
                waiting += [(path, part) for part in value]

    @contextmanager
    def blamed(self, *path: str) -> Iterator[None]:
        """Add to an error where its cause is written: the key under `path` that it mentions, or `path`."""
        try:
            yield
        except InvalidInput as error:
            message = str(error)
            if not message.startswith((self.source, *self.places.values())):
                below = [key for key, _ in self.entries() if key[: len(path)] == path and len(key) > len(path)]
                mentioned = {part for key in below for part in key if _mentions(message, part)}
                named = [key for key in below if key[-1] in mentioned]
                cause = max(named, key=lambda key: (len(mentioned & {*key}), len(key[-1])), default=path)
                error.args = (f"{self.place(cause)}: {message}",)
            raise

    def section(self, name: str, keys: Sequence[str]) -> dict[str, Json]:
        """Return a section, {} if it is missing, after checking its keys."""
        return self.table(self.words.get(name, {}), (name,), keys)

    def table(self, words: Json, path: Key, keys: Sequence[str] | None) -> dict[str, Json]:
        """Return a table; raise if `words` is none, or has other keys than `keys`."""
        with self.blamed(*path):
            problem = f"[{'.'.join(path)}] must be a table"
            if not isinstance(words, Mapping):
                raise InvalidInput(problem, words, "Write its keys below the header.")
        for key in words:
            if keys is not None and key not in keys:
                problem = f"[{'.'.join(path)}] has no such key" if path else "there is no such key"
                raise self._unknown(key, (*path, key), problem, keys)
        return dict(words)

    def choice(self, word: Json, path: Key, choices: Mapping[str, T]) -> T:
        """Return the value that a word stands for."""
        if not isinstance(word, str) or word.lower() not in choices:
            raise self._unknown(word, path, f"{path[-1]} is not known", tuple(choices))
        return choices[word.lower()]

    def _unknown(self, word: Json, path: Key, problem: str, choices: Sequence[str]) -> InvalidInput:
        """Return the error for a word that is none of the choices."""
        fix = f"{guess(str(word).lower(), choices)}There are {', '.join(choices)}."
        return InvalidInput(f"{self.place(path)}: {problem}", word, fix)


def _mentions(message: str, key: str) -> bool:
    return re.search(rf"\b{re.escape(key)}\b", message) is not None


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a TOML file; errors name the key."""
    file = file_path(path)
    text = text_of(content_of(file, "the recipe"), "the recipe", path)
    return parse_recipe(text, file.name, file.parent)


def parse_recipe(text: str, name: str = "recipe", folder: Path = Path()) -> Recipe:
    """Return a recipe from its text; errors name the key."""
    try:
        words = tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply", "[[[...", "Write plain lists and tables.") from None
    except ValueError as error:  # of TOML, or of a number that is too long
        raise _not_toml(text, name, error) from None
    recipe = Recipe(words, source=name, folder=folder)
    check_values(recipe)
    return recipe


def _not_toml(text: str, name: str, error: ValueError) -> InvalidInput:
    """Return the error for a text without keys; it names the line."""
    problem, _, place = str(error).partition(" (at ")
    match = re.match(r"line (\d+)", place)
    lines = text.splitlines() or [""]
    number = min(int(match[1]) if match else len(lines), len(lines))
    fix = "Write key = value; texts need quotation marks, and `zonal new --template` shows how it looks."
    problem = f"{name}, line {number}: {problem[:1].lower()}{problem[1:]}"
    return InvalidInput(problem, lines[number - 1].strip(), fix)


def check_values(recipe: Recipe) -> None:
    """Raise for integers beyond TOML's own limit; not every reader of TOML does."""
    for path, value in recipe.entries():
        if isinstance(value, int) and not -LARGEST_WHOLE <= value < LARGEST_WHOLE:
            problem, fix = "a whole number is too large", "Pass a number of at most 64 bits."
            raise InvalidInput(f"{recipe.place(path)}: {problem}", hex(value)[:20] + "...", fix)


AXIS = re.compile(r"(?P<name>[^=]+)=(?P<low>.+?)\.\.(?P<high>[^:]+)(?::(?P<unit>[^:]*))?(?::(?P<scale>[^:]+))?")
SYMBOLS = re.compile(r"(?P<name>[^=]+)=(?P<symbols>[^=]*,[^=]*)")


def axis_words(texts: Sequence[str]) -> Words:
    """Return axes from their command-line form: ``l=-180..180:deg``, ``c=1e-3..1:M:log``, ``dye=r,g``."""
    axes: dict[str, Json] = {}
    for text in texts:
        name, axis = _axis(text)
        require(name not in axes, "an axis is named twice", text, "Give each its own name.")
        axes[name] = axis
    return axes


def _axis(text: str) -> tuple[str, Words]:
    """Return the name of an axis and its keys."""
    if line := AXIS.fullmatch(text):
        low, high = parsed(line["low"]), parsed(line["high"])
        if low is not None and high is not None:
            named = {key: line[key].strip() for key in ("unit", "scale") if line[key]}
            return line["name"].strip(), {"low": low, "high": high, **named}
    elif listed := SYMBOLS.fullmatch(text):
        symbols = _symbols(listed["symbols"])
        if symbols:
            return listed["name"].strip(), {"symbols": symbols}
    fix = "Write x=0..1, or l=-180..180:deg:periodic, or c=1e-3..1:M:log, or n=1..12::integer, or dye=red,green."
    raise InvalidInput("an axis needs a name and two numbers, or a name and symbols", text, fix)


def _symbols(text: str) -> Sequence[str | float]:
    """Return symbols, as numbers if all are; none for two numbers, which are probably bounds in the wrong form."""
    symbols = [symbol.strip() for symbol in text.split(",")]
    numbers = [number for number in map(parsed, symbols) if number is not None]
    if len(numbers) < len(symbols):
        return symbols
    return [int(number) if number % 1 == 0 else number for number in numbers] if len(numbers) > 2 else []


def sequence_words(text: str) -> Words:
    """Return sequences from their command-line form: ``ACGT,8``."""
    alphabet, comma, length = text.rpartition(",")
    both = comma and re.fullmatch(r"\s*[0-9]{1,9}\s*", length)
    require(both, "sequences need an alphabet and a length", text, "Write ACGT,8.")
    return {"alphabet": alphabet.strip(), "length": int(length)}
