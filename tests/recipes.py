"""Recipes, and what may happen to one on the way."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from zonal.recipe import template

TABLE = """state,town,lon,lat,persons
N,Ayr,1.0,2.0,10
N,Bath,2.0,1.5,20
S,Cork,3.0,0.5,30
S,Deal,4.5,2.5,5
S,Ely,5.0,3.5,8
"""

HEAD = 'budget = 12\ndirection = "minimize"\nmax_looks = 4\nseed = 3\n\n'
TAIL = '\n[measurement]\nname = "yield"\nunit = "g"\nnoise = 0.1\nfeedback = "mean"\n'

RECIPES = {
    "template": template(),
    "model": HEAD
    + '[axes]\nx = [0, 1]\ny = { low = -1.5, high = 2e3, unit = "mm", smallest = 50 }\n'.replace("x = [0, 1]\n", "")
    + TAIL
    + '[model]\nkernel = "matern"\nvariance = 2.0\nlengthscale = 300\nnu = 1.5\nmean = 0.5\n',
    "gpoo": 'budget = 12\narity = 3\n[axes]\nx = [0, 1]\nz = [-1, 1]\n[measurement]\nfeedback = { average = 2 }\n'
    '[model]\nkernel = "rbf"\nvariance = 1.0\nlengthscale = [0.2, 0.5]\n'
    '[policy]\nname = "gpoo"\ntheta = 0.2\nh_max = 6\ndelta = { kind = "geometric", c = 14, rho = 0.5 }\n',
    "mixed": HEAD
    + '[axes]\nx = { low = 0, high = 1, smallest = 0.1 }\ndye = { symbols = ["red", "green"] }\n'
    + "solvent = { frequencies = { water = 3, ethanol = 1 } }\n"
    + TAIL,
    "sequences": 'budget = 9\n[sequences]\nalphabet = "ACGT"\nlength = 5\nsmallest = 4\norder = [0, 2, 1, 3, 4]\n'
    '[model]\nkernel = "categorical"\nvariance = 1.0\ncorrelation = 0.4\n[policy]\nname = "ucb"\nlevel = 2\n',
    "points": 'budget = 9\n[points]\ntable = "areas.csv"\ncoords = ["lon", "lat"]\nweight = "persons"\nsmallest = 5\n'
    '[measurement]\nnoise = { per_weight = 0.5 }\nfeedback = "center"\n',
    "hierarchy": 'budget = 9\n[hierarchy]\ntable = "areas.csv"\nlevels = ["state", "town"]\ncoords = ["lon", "lat"]\n'
    'weight = "persons"\n[policy]\nname = "random"\n',
}

VALUES = (
    "0 1 -1 2 3 0.5 -0.0 1e-300 1e300 inf -inf nan 99999999999999999999 0xffffffffffffffffffffffffffff 1979-05-27 "
    'true false "" "x" "rbf" "gpoo" "mean" "areas.csv" "nosuch.csv" [] [1] [0,1] [1,0] [[1],[2,3]] ["a"] ["a","b"] '
    "[1,\"a\"] {} {a=1} {low=0,high=1} {kind=\"spread\"} 1000 65 07:32:00 '''x''' [0,1e-320] 4611686018427387904"
).split()
WORDS = (
    "budget direction max_looks seed arity axes sequences points hierarchy measurement model policy kernel variance "
    "lengthscale nu correlation mean name unit noise feedback theta h_max level delta alphabet length order frequencies "
    "smallest table coords weight levels low high symbols x"
).split()
SIGNS = list("=[]{}\"'#.,-_0123456789eE \n\t\\\x00é")


def written(folder: Path) -> Path:
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
        match draw(st.sampled_from(["value", "value", "key", "drop", "twice", "swap", "sign", "cut", "line", "join"])):
            case "value":
                lines[at] = f"{key}= {draw(st.sampled_from(VALUES))}" if equals else lines[at]
            case "key":
                lines[at] = f"{draw(st.sampled_from(WORDS))} ={value}" if equals else f"[{draw(st.sampled_from(WORDS))}]"
            case "drop":
                del lines[at]
            case "twice":
                lines.insert(at, lines[at])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "sign":
                place = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:place] + draw(st.sampled_from(SIGNS)) + lines[at][place + 1 :]
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "line":
                lines.insert(at, f"{draw(st.sampled_from(WORDS))} = {draw(st.sampled_from(VALUES))}")
            case "join":
                lines[at : at + 2] = ["".join(lines[at : at + 2])]
        text = "\n".join(lines)
    return text
