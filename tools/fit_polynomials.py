"""Fits the polynomials of `strop/codegen/math/tables.py` and prints that file (needs mpmath).

Remez exchange on a relative or absolute error; coefficients are rounded to the element type one at a time, lowest
power first, and the rest is fitted again after each, so that rounding costs almost nothing.

    python tools/fit_polynomials.py > src/strop/codegen/math/tables.py
"""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mpmath import mp, mpf

mp.prec = 220
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """target(x) ≈ Σ c[k]·x^k on [low, high] with |error| ≤ bound·|scale(x)|."""

    name: str
    dtype: str
    target: Function
    scale: Function
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Quotient:
    """target(z) ≈ P(z)/Q(z) in f32 on [0, high], with so many coefficients above and below; relative error."""

    name: str
    target: Function
    high: float
    over: int
    under: int


def rounded(value: mpf, dtype: str) -> float:
    if dtype == "f64":
        return float(value)
    return float(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def chebyshev(low: mpf, high: mpf, count: int) -> list[mpf]:
    cosines = (mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count))
    return [(low + high) / 2 - (high - low) / 2 * c for c in cosines]


def remez(target: Function, scale: Function, low: mpf, high: mpf, first: int, count: int) -> tuple[list[mpf], mpf]:
    """Coefficients of x^first … x^(first+count-1) and the levelled error."""
    points, grid = chebyshev(low, high, count + 1), chebyshev(low, high, 400)
    truth = [(x, target(x), scale(x)) for x in grid]
    coefficients: list[mpf] = []
    worst = mpf(0)
    for _ in range(8):
        rows = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for i, x in enumerate(points):
            for k in range(count):
                rows[i, k] = x ** (first + k)
            rows[i, count] = (-1) ** i * scale(x)
            right[i] = target(x)
        solution = mp.lu_solve(rows, right)
        coefficients = [solution[k] for k in range(count)]
        errors = [(t - x**first * mp.polyval(coefficients[::-1], x)) / s for x, t, s in truth]
        worst = max(abs(e) for e in errors)
        if worst < abs(solution[count]) * mpf("1.02"):
            break
        extrema = alternation(errors, count + 1)
        if len(extrema) < count + 1:
            break
        points = [grid[i] for i in extrema]
    return coefficients, worst


def alternation(errors: list[mpf], count: int) -> list[int]:
    """Where the error is largest between its changes of sign: at most `count` neighbouring places."""
    extrema: list[int] = []
    for i, error in enumerate(errors):
        if extrema and errors[extrema[-1]] * error > 0:
            extrema[-1] = i if abs(error) > abs(errors[extrema[-1]]) else extrema[-1]
        else:
            extrema.append(i)
    while len(extrema) > count:
        extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
    return extrema


def remainder(target: Function, coefficients: list[float], x: mpf) -> mpf:
    return target(x) - mp.polyval(coefficients[::-1], x)


def fit(task: Fit) -> tuple[list[float], float]:
    low, high = mpf(task.low), mpf(task.high)
    coefficients, best = remez(task.target, task.scale, low, high, 0, task.count)
    done: list[float] = []
    for first in range(1, task.count):
        tried = [*done, rounded(coefficients[0], task.dtype)]
        left = partial(remainder, task.target, tried)
        rest, bound = remez(left, task.scale, low, high, first, task.count - first)
        if bound > 2 * best:  # x^first … alone do not alternate on an interval around 0: round the others as they are
            break
        done, coefficients = tried, rest
    return [*done, *(rounded(c, task.dtype) for c in coefficients)], float(best)


def denominator(task: Quotient) -> list[mpf]:
    """Remez exchange for a quotient: its equations are linear once the error is weighted by the last round's Q."""
    low, high, count = mpf(2) ** -40, mpf(task.high), task.over + task.under
    points, grid = chebyshev(low, high, count), chebyshev(low, high, 400)
    truth = [(z, task.target(z)) for z in grid]
    under = [mpf(1)]
    for _ in range(20):
        rows, right = mp.matrix(count, count), mp.matrix(count, 1)
        for i, z in enumerate(points):
            wanted = task.target(z)
            powers = [*(z**k for k in range(task.over)), *(-wanted * z**k for k in range(1, task.under))]
            for k, power in enumerate(powers):
                rows[i, k] = power
            rows[i, count - 1] = (-1) ** i * wanted * mp.polyval(under[::-1], z)
            right[i] = wanted
        solution = mp.lu_solve(rows, right)
        over, under = list(solution[: task.over]), [mpf(1), *solution[task.over : count - 1]]
        errors = [mp.polyval(over[::-1], z) / mp.polyval(under[::-1], z) / t - 1 for z, t in truth]
        extrema = alternation(errors, count)
        if len(extrema) < count:
            break
        points = [grid[i] for i in extrema]
    return under


def fit_quotient(task: Quotient) -> tuple[list[float], list[float], float]:
    """P and Q; P is fitted once more to what Q is after rounding."""
    under = [rounded(c, "f32") for c in denominator(task)]
    numerator = away_from_zero(lambda z: task.target(z) * mp.polyval(under[::-1], z))
    over, bound = fit(Fit(task.name, "f32", numerator, numerator, 0, task.high, task.over))
    return over, under, bound


def one(x: mpf) -> mpf:
    return mpf(1)


def away_from_zero(f: Function) -> Function:
    """f with its removable singularity at 0 filled in by a nearby value."""
    return lambda x: f(x if abs(x) > mpf(2) ** -40 else mpf(2) ** -40)


def over_square(f: Function) -> Function:
    return away_from_zero(lambda z: f(mp.sqrt(z)))


HALF_LN2 = 0.34658
QUARTER_PI_SQUARED = 0.6170
ERF_SPLIT, ERFCX_POLE = 0.5, 3.0
ERF_END, GELU_END = 3.85, 5.3


def scaled_erfcx(t: mpf) -> mpf:
    """erfc(x)·exp(x²)·(1 + 2x) with t = (x - 3)/(x + 3): nearly constant, and smooth up to infinity."""
    x = ERFCX_POLE * (1 + t) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


def root_of_tail(a: mpf) -> mpf:
    """The fourth root of the normal distribution's tail."""
    return (mp.erfc(a / mp.sqrt(2)) / 2) ** mpf("0.25")


FITS = (
    *(Fit("EXP", d, away_from_zero(lambda r: (mp.exp(r) - 1 - r) / r**2), lambda r: 1 / max(abs(r), mpf("0.05")),
          -HALF_LN2, HALF_LN2, n) for d, n in (("f32", 5), ("f64", 11))),
    Fit("SHORT_EXP", "f32", away_from_zero(lambda y: (mp.exp(-y) - 1) / y),
        lambda y: mp.exp(-y) / max(abs(y), mpf("0.05")), -HALF_LN2, HALF_LN2, 5),
    Fit("SHORT_EXP2", "f32", away_from_zero(lambda y: (mpf(2) ** y - 1) / y),
        lambda y: mpf(2) ** y / max(abs(y), mpf("0.05")), -0.5, 0.5, 5),
    *(Fit("LOG", d, over_square(lambda s: (2 * mp.atanh(s) / s - 2) / s**2), one, 0, 0.02945, n)
      for d, n in (("f32", 4), ("f64", 8))),
    Fit("LOG1P", "f32", away_from_zero(lambda u: mp.log(1 + u) / u), away_from_zero(lambda u: mp.log(1 + u) / u), 0, 1,
        9),
    Fit("SIN", "f32", over_square(lambda x: (mp.sin(x) / x - 1) / x**2), one, 0, QUARTER_PI_SQUARED, 3),
    Fit("COS", "f32", over_square(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4), one, 0, QUARTER_PI_SQUARED, 3),
    *(Fit("ATAN", d, over_square(lambda x: (mp.atan(x) / x - 1) / x**2), one, 0, 0.17158, n)
      for d, n in (("f32", 5), ("f64", 12))),
    *(Fit("ASIN", d, over_square(lambda x: (mp.asin(x) / x - 1) / x**2), one, 0, 0.25, n)
      for d, n in (("f32", 6), ("f64", 13))),
    Fit("ERF_NEAR", "f64", over_square(lambda x: mp.erf(x) / x - 1), over_square(lambda x: mp.erf(x) / x), 0,
        ERF_SPLIT**2, 9),
    Fit("ERFCX", "f64", scaled_erfcx, scaled_erfcx, -0.7143, 0.8065, 22),
    Fit("GELU", "f32", away_from_zero(lambda a: (root_of_tail(a) - root_of_tail(mpf(0))) / a),
        lambda a: root_of_tail(a) ** -3 / 4 / max(a, mpf("0.05")), 0, GELU_END, 8),
)  # fmt: skip
QUOTIENTS = (Quotient("ERF", over_square(lambda x: mp.erf(x) / x), ERF_END**2, 6, 6),)


HEADER = '''"""Coefficients of the polynomials in `codegen/math/*.py`, lowest power first, per element type.

Written by `python tools/fit_polynomials.py`, which says what each approximates and where; errors are before rounding.
"""

from __future__ import annotations

from typing import Final
'''


def entry(dtype: str, coefficients: list[float], bound: float) -> str:
    numbers = textwrap.fill(", ".join(map(repr, coefficients)) + ",", 110)
    return f'    "{dtype}": (  # error {bound:.1e}\n{textwrap.indent(numbers, "        ")}\n    ),'


def main() -> None:
    tables: dict[str, list[str]] = {}
    for task in FITS:
        tables.setdefault(task.name, []).append(entry(task.dtype, *fit(task)))
    for quotient in QUOTIENTS:
        over, under, bound = fit_quotient(quotient)
        tables[f"{quotient.name}_OVER"] = [entry("f32", over, bound)]
        tables[f"{quotient.name}_UNDER"] = [entry("f32", under, bound)]
    print(HEADER)
    for name, entries in tables.items():
        print(f"{name}: Final[dict[str, tuple[float, ...]]] = {{", *entries, "}  # fmt: skip", sep="\n")


if __name__ == "__main__":
    main()
