"""Recipes of every kind, and what may happen to one on the way."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from zonal.study.recipe import template

TABLE = """state,town,lon,lat,persons
N,Ayr,1.0,2.0,10
N,Bath,2.0,1.5,20
S,Cork,3.0,0.5,30
S,Deal,4.5,2.5,5
S,Ely,5.0,3.5,8
"""

MODEL = """
budget = 12
direction = "minimize"
max_replicates = 4
seed = 3

[axes]
y = { low = -1.5, high = 2e3, unit = "mm", smallest = 50 }

[measurement]
name = "yield"
unit = "g"
noise = 0.1
feedback = "mean"

[model]
kernel = "matern"
variance = 2.0
lengthscale = 300
nu = 1.5
mean = 0.5
"""

GPOO = """
budget = 12
arity = 3

[axes]
x = [0, 1]
z = [-1, 1]

[measurement]
feedback = { beam = { x = 0.1, z = 0.2 } }

[model]
kernel = "rbf"
variance = 1.0
lengthscale = [0.2, 0.5]

[policy]
name = "gpoo"
theta = 0.2
h_max = 6
delta = { kind = "geometric", c = 14, rho = 0.5 }
"""

MIXED = """
budget = 12

forbidden = ["x=0..0.25, dye=red", { solvent = "ethanol", dye = ["green"], x = [0.5, 1] }]

[axes]
x = { low = 0, high = 1, smallest = 0.1 }
dye = { symbols = ["red", "green"] }
solvent = { frequencies = { water = 3, ethanol = 1 } }
"""

SEQUENCES = """
budget = 9

[sequences]
alphabet = "ACGT"
length = 5
smallest = 4
order = [0, 2, 1, 3, 4]

[model]
kernel = "categorical"
variance = 1.0
correlation = 0.4

[policy]
name = "ucb"
level = 2
"""

POINTS = """
budget = 9

[points]
table = "areas.csv"
coords = ["lon", "lat"]
weight = "persons"
smallest = 5

[measurement]
noise = { per_weight = 0.5 }
feedback = "center"
"""

HIERARCHY = """
budget = 9

[hierarchy]
table = "areas.csv"
levels = ["state", "town"]
coords = ["lon", "lat"]
weight = "persons"

[policy]
name = "random"
"""

RECIPES = {
    "template": template(),
    "model": MODEL,
    "gpoo": GPOO,
    "mixed": MIXED,
    "sequences": SEQUENCES,
    "points": POINTS,
    "hierarchy": HIERARCHY,
}

VALUES = """
0 1 -1 2 3 65 1000 0.5 -0.0 1e-300 1e300 inf -inf nan true false 1979-05-27 07:32:00
99999999999999999999 0xffffffffffffffffffffffffffff 4611686018427387904
"" "x" "rbf" "gpoo" "mean" "areas.csv" "nosuch.csv" '''x'''
[] [1] [0,1] [1,0] [[1],[2,3]] ["a"] ["a","b"] [1,"a"] [0,1e-320]
{} {a=1} {low=0,high=1} {kind="spread"}
"""
WORDS = """
budget direction max_replicates seed
 arity forbidden axes sequences points hierarchy measurement model policy kernel
variance lengthscale nu correlation mean name unit noise feedback theta h_max level delta alphabet length order
frequencies smallest scale table coords weight levels low high symbols x
"""
SIGNS = list("=[]{}\"'#.,-_0123456789eE \n\t\\\x00é")
HAPPENINGS = ("value", "value", "key", "drop", "twice", "swap", "sign", "cut", "line", "join")


def with_table(folder: Path) -> Path:
    """Return a folder that has the table which recipes name."""
    (folder / "areas.csv").write_text(TABLE)
    return folder


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return a recipe to which a few things have happened."""
    text = draw(st.sampled_from(sorted(RECIPES.values())))
    for _ in range(draw(st.integers(1, 3))):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        key, equals, value = lines[at].partition("=")
        other = draw(st.sampled_from(WORDS.split()))
        match draw(st.sampled_from(HAPPENINGS)):
            case "value":
                lines[at] = f"{key}= {draw(st.sampled_from(VALUES.split()))}" if equals else lines[at]
            case "key":
                lines[at] = f"{other} ={value}" if equals else f"[{other}]"
            case "drop":
                del lines[at]
            case "twice":
                lines.insert(at, lines[at])
            case "swap":
                to = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[to] = lines[to], lines[at]
            case "sign":
                place = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:place] + draw(st.sampled_from(SIGNS)) + lines[at][place + 1 :]
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "line":
                lines.insert(at, f"{other} = {draw(st.sampled_from(VALUES.split()))}")
            case "join":
                lines[at : at + 2] = ["".join(lines[at : at + 2])]
        text = "\n".join(lines)
    return text
