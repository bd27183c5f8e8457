"""Fits the polynomials of `strop/code/math_tables.py` and prints that file (needs mpmath).

Remez exchange on a relative or absolute error; coefficients are rounded to the element type one at a time, lowest
power first, and the rest is fitted again after each, so that rounding costs almost nothing.

    python tools/fit_polynomials.py > src/strop/code/math_tables.py
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
        extrema: list[int] = []
        for i, error in enumerate(errors):
            if extrema and errors[extrema[-1]] * error > 0:
                extrema[-1] = i if abs(error) > abs(errors[extrema[-1]]) else extrema[-1]
            else:
                extrema.append(i)
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < count + 1:
            break
        points = [grid[i] for i in extrema]
    return coefficients, worst


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


def one(x: mpf) -> mpf:
    return mpf(1)


def away_from_zero(f: Function) -> Function:
    """f with its removable singularity at 0 filled in by a nearby value."""
    return lambda x: f(x if abs(x) > mpf(2) ** -40 else mpf(2) ** -40)


def over_square(f: Function) -> Function:
    return away_from_zero(lambda z: f(mp.sqrt(z)))


HALF_LN2 = 0.34658
QUARTER_PI_SQUARED = 0.6170
ERF_SPLIT, ERF_END = 1.125, 3.92
ERF_CENTRE = 2.5225
ERFC_SPLIT, ERFCX_POLE = 0.5, 3.0


def scaled_erfcx(t: mpf) -> mpf:
    """erfc(x)·exp(x²)·(1 + 2x) with t = (x - 3)/(x + 3): nearly constant, and smooth up to infinity."""
    x = ERFCX_POLE * (1 + t) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


FITS = (
    *(Fit("EXP", d, away_from_zero(lambda r: (mp.exp(r) - 1 - r) / r**2), lambda r: 1 / max(abs(r), mpf("0.05")),
          -HALF_LN2, HALF_LN2, n) for d, n in (("f32", 5), ("f64", 11))),
    Fit("SHORT_EXP", "f32", away_from_zero(lambda y: (mp.exp(-y) - 1) / y),
        lambda y: mp.exp(-y) / max(abs(y), mpf("0.05")), -HALF_LN2, HALF_LN2, 5),
    *(Fit("LOG", d, over_square(lambda s: (2 * mp.atanh(s) / s - 2) / s**2), one, 0, 0.02945, n)
      for d, n in (("f32", 4), ("f64", 8))),
    Fit("SIN", "f32", over_square(lambda x: (mp.sin(x) / x - 1) / x**2), one, 0, QUARTER_PI_SQUARED, 3),
    Fit("COS", "f32", over_square(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4), one, 0, QUARTER_PI_SQUARED, 3),
    *(Fit("ATAN", d, over_square(lambda x: (mp.atan(x) / x - 1) / x**2), one, 0, 0.17158, n)
      for d, n in (("f32", 5), ("f64", 12))),
    *(Fit("ASIN", d, over_square(lambda x: (mp.asin(x) / x - 1) / x**2), one, 0, 0.25, n)
      for d, n in (("f32", 6), ("f64", 13))),
    *(Fit("ERF_NEAR", d, over_square(lambda x: mp.erf(x) / x - 1), over_square(lambda x: mp.erf(x) / x), 0, end**2, n)
      for d, n, end in (("f32", 7, ERF_SPLIT), ("f64", 9, ERFC_SPLIT))),
    Fit("ERF_FAR", "f32", lambda u: mp.erf(u + ERF_CENTRE), one, ERF_SPLIT - ERF_CENTRE, ERF_END - ERF_CENTRE, 13),
    Fit("ERFCX", "f64", scaled_erfcx, scaled_erfcx, -0.7143, 0.8065, 22),
)  # fmt: skip


HEADER = '''"""Coefficients of the polynomials in `code/math_*.py`, lowest power first, per element type.

Written by `python tools/fit_polynomials.py`, which says what each approximates and where; errors are before rounding.
"""

from __future__ import annotations

from typing import Final
'''


def main() -> None:
    print(HEADER)
    for name in dict.fromkeys(task.name for task in FITS):
        print(f"{name}: Final[dict[str, tuple[float, ...]]] = {{")
        for task in (task for task in FITS if task.name == name):
            coefficients, bound = fit(task)
            numbers = textwrap.fill(", ".join(map(repr, coefficients)) + ",", 110)
            print(f'    "{task.dtype}": (  # error {bound:.1e}\n{textwrap.indent(numbers, "        ")}\n    ),')
        print("}  # fmt: skip")


if __name__ == "__main__":
    main()
