"""Write data/exact_means.json: covariances of interval means, to 20 significant digits.

Run with mpmath installed, from anywhere: ``python tests/make_exact_means.py``.

The mean of f over [c1 - w1/2, c1 + w1/2] and its mean over [c2 - w2/2, c2 + w2/2] have as prior
covariance the double average of kappa(|x - y|). For kernels of unit variance and unit
lengthscale it is a second difference of K2, the double integral of kappa from 0. The difference
cancels badly, which is why it is taken here with 300 digits: enough for exp(-450), the smallest
covariance of the table, over widths of 1e-8. A sample of the table is then integrated
numerically as a double integral, which shares nothing with the closed forms but kappa.

Centres and widths are doubles, and JSON keeps doubles exactly, so every value belongs to
exactly the numbers in its row. A width of 0 means the value at a point.
"""

import json
from collections.abc import Callable
from pathlib import Path

import mpmath as mp

WIDTHS = [1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 20.0]
FAR = [1.0, 3.0, 10.0, 30.0]
DIGITS = 300
SAMPLE_EVERY = 13
SAMPLE_TOLERANCE = mp.mpf("1e-20")
OUTPUT = Path(__file__).parent / "data" / "exact_means.json"

Function = Callable[[mp.mpf], mp.mpf]
Case = tuple[str, float, float, float, float]  # kind, c1, w1, c2, w2


def kappas() -> dict[str, Function]:
    """Return the four correlation functions of the distance r >= 0, at lengthscale 1."""
    a, b = mp.sqrt(3), mp.sqrt(5)
    return {
        "rbf": lambda r: mp.exp(-(r**2) / 2),
        "matern12": lambda r: mp.exp(-r),
        "matern32": lambda r: (1 + a * r) * mp.exp(-a * r),
        "matern52": lambda r: (1 + b * r + 5 * r**2 / 3) * mp.exp(-b * r),
    }


def single_integrals() -> dict[str, Function]:
    """Return K1(r), the integral of kappa from 0 to r, for r >= 0."""
    a, b = mp.sqrt(3), mp.sqrt(5)
    return {
        "rbf": lambda r: mp.sqrt(mp.pi / 2) * mp.erf(r / mp.sqrt(2)),
        "matern12": lambda r: 1 - mp.exp(-r),
        "matern32": lambda r: (2 - (2 + a * r) * mp.exp(-a * r)) / a,
        "matern52": lambda r: (8 - (8 + 5 * b * r + 5 * r**2) * mp.exp(-b * r)) / (3 * b),
    }


def double_integrals() -> dict[str, Function]:
    """Return K2(r), the integral of K1 from 0 to r, for r >= 0."""
    a, b = mp.sqrt(3), mp.sqrt(5)
    rbf_single = single_integrals()["rbf"]
    return {
        "rbf": lambda r: r * rbf_single(r) + mp.exp(-(r**2) / 2) - 1,
        "matern12": lambda r: r + mp.exp(-r) - 1,
        "matern32": lambda r: (2 * a * r - 3 + (3 + a * r) * mp.exp(-a * r)) / 3,
        "matern52": lambda r: (8 * b * r - 15 + (15 + 7 * b * r + 5 * r**2) * mp.exp(-b * r)) / 15,
    }


def closed_form(name: str, case: Case) -> mp.mpf:
    """Return the covariance of two means by differences of kappa's integrals."""
    c1, w1, c2, w2 = (mp.mpf(number) for number in case[1:])
    distance = abs(c1 - c2)
    if w1 == 0 and w2 == 0:
        return kappas()[name](distance)
    if w1 == 0 or w2 == 0:
        width = w1 + w2
        K1 = single_integrals()[name]
        upper, lower = distance + width / 2, distance - width / 2
        return (K1(upper) - mp.sign(lower) * K1(abs(lower))) / width
    K2 = double_integrals()[name]
    half_sum, half_difference = (w1 + w2) / 2, abs(w1 - w2) / 2
    outer = K2(distance + half_sum) + K2(abs(distance - half_sum))
    inner = K2(distance + half_difference) + K2(abs(distance - half_difference))
    return (outer - inner) / (w1 * w2)


def numerical_integral(name: str, case: Case) -> mp.mpf:
    """Return the covariance of two means by Gauss-Legendre quadrature of kappa(|x - y|).

    Both integrals are broken into pieces no longer than 1, and where the integrand or the inner
    integral has a kink: at y = x, and at the ends of the second interval. The quadrature stops
    at an absolute error, so kappa is first divided by its largest value over the two intervals.
    """
    kappa = kappas()[name]
    c1, w1, c2, w2 = (mp.mpf(number) for number in case[1:])
    largest = kappa(max(abs(c1 - c2) - (w1 + w2) / 2, mp.mpf(0)))

    def average(g: Function, centre: mp.mpf, width: mp.mpf, kinks: list[mp.mpf]) -> mp.mpf:
        if width == 0:
            return g(centre)
        low, high = centre - width / 2, centre + width / 2
        pieces = max(1, int(mp.ceil(width)))
        breaks = {low + width * i / pieces for i in range(pieces + 1)}
        breaks |= {kink for kink in kinks if low < kink < high}
        return mp.quad(g, sorted(breaks), method="gauss-legendre") / width

    def over_second(x: mp.mpf) -> mp.mpf:
        return average(lambda y: kappa(abs(x - y)) / largest, c2, w2, [x])

    return largest * average(over_second, c1, w1, [c2 - w2 / 2, c2 + w2 / 2])


def interval_cases() -> list[Case]:
    """Return pairs of intervals: every ordered pair of widths in every relative position."""
    cases: list[Case] = []
    for w1 in WIDTHS:
        for w2 in WIDTHS:
            half_sum, half_difference = (w1 + w2) / 2, abs(w1 - w2) / 2
            distances = {
                "concentric": 0.0,
                "nested off-centre": 0.6 * half_difference,
                "overlapping": max(w1, w2) / 2,
                "touching": half_sum,
                "slightly apart": 1.1 * half_sum,
            }
            if w1 == w2:
                del distances["nested off-centre"]
            if w1 <= w2:
                distances |= {f"{far:g} apart": far for far in FAR}
            for kind, distance in distances.items():
                cases.append(placed(kind, w1, w2, distance, len(cases)))
    return cases


def point_cases() -> list[Case]:
    """Return a point with each interval, the point now first and now second; and two points."""
    cases: list[Case] = []
    for width in WIDTHS:
        distances = {
            "point at the centre": 0.0,
            "point inside": 0.3 * width,
            "point at the end": 0.5 * width,
            "point just outside": 0.55 * width,
        }
        distances |= {f"point {far:g} apart": far for far in FAR}
        for kind, distance in distances.items():
            w1, w2 = (0.0, width) if len(cases) % 3 else (width, 0.0)
            cases.append(placed(kind, w1, w2, distance, len(cases)))
    for distance in [0.0, 1e-8, 1e-4, *FAR]:
        cases.append(placed("two points", 0.0, 0.0, distance, len(cases)))
    return cases


def placed(kind: str, w1: float, w2: float, distance: float, number: int) -> Case:
    """Place two widths at a distance: from 0 or from 0.3, to the right or to the left, in turn.

    From 0.3 the difference of the centres is rounded when the second is placed; the row holds
    the rounded centre, and its value is for that.
    """
    c1 = 0.3 if number % 4 == 3 else 0.0
    c2 = c1 - distance if number % 2 else c1 + distance
    return kind, c1, w1, c2, w2


def worst_disagreement(cases: list[Case]) -> mp.mpf:
    """Return the largest relative difference of closed form and quadrature over a sample."""
    worst = mp.mpf(0)
    for name in kappas():
        for case in cases[::SAMPLE_EVERY]:
            with mp.workdps(DIGITS):
                exact = closed_form(name, case)
            with mp.workdps(30):
                worst = max(worst, abs(numerical_integral(name, case) / exact - 1))
    return worst


def main() -> None:
    """Check a sample, then write the table."""
    cases = interval_cases() + point_cases()
    worst = worst_disagreement(cases)
    if worst > SAMPLE_TOLERANCE:
        raise ArithmeticError(f"closed form and quadrature differ by {mp.nstr(worst, 3)}")
    rows = []
    with mp.workdps(DIGITS):
        for case in cases:
            values = [mp.nstr(closed_form(name, case), 20) for name in kappas()]
            rows.append(json.dumps([*case, *values]))
    header = {
        "about": "Covariances of the means of f over two intervals; unit variance, l = 1.",
        "made by": "tests/make_exact_means.py",
        "mpmath": mp.__version__,
        "digits": DIGITS,
        "sample checked by quadrature": len(cases[::SAMPLE_EVERY]) * len(kappas()),
        "largest relative difference in the sample": mp.nstr(worst, 3),
        "columns": ["kind", "c1", "w1", "c2", "w2", *kappas()],
    }
    head = json.dumps(header, indent=1).removesuffix("\n}")
    OUTPUT.write_text(head + ',\n "rows": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
