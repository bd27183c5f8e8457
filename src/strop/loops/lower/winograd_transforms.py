"""The transforms of Winograd's convolution: exact matrices from interpolation points, applied to expressions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from strop.loops.ir import Const, Expr
from strop.loops.lower.pointwise import apply

Row = Sequence[Fraction]
Matrix = Sequence[Row]
#: pixels per window and dimension → interpolation points besides infinity. With ±3/4 and ±4/3 the error is 1–2e-6 of
#: the output's scale; the textbook's ±1 and ±2 give 6–14e-6.
POINTS = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(4, 3), Fraction(-4, 3)),
}


def transforms(tile: int, taps: int = 3) -> tuple[Matrix, Matrix, Matrix]:
    """Aᵀ (tile×n), G (n×taps) and Bᵀ (n×n) of Toom and Cook over the points of a window of n pixels and infinity."""
    points = POINTS[tile + taps - 1]
    one, zero = Fraction(1), Fraction(0)
    at = [[*(p**i for p in points), one if i == tile - 1 else zero] for i in range(tile)]
    g = []
    bt = []
    for point in points:
        others = [p for p in points if p != point]
        scale = reduce(lambda product, p: product * (point - p), others, one)
        g.append([point**i / scale for i in range(taps)])
        bt.append([*_with_roots(others), zero])
    g.append([zero] * (taps - 1) + [one])
    bt.append(_with_roots(points))
    return at, g, bt


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """The polynomial Π (x - root), constant term first."""
    polynomial = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *polynomial]
        polynomial = [a - root * b for a, b in zip(shifted, [*polynomial, Fraction(0)])]
    return polynomial


def transformed(matrix: Matrix, values: Sequence[Expr]) -> list[Expr]:
    """matrix·values. Two neighbouring rows that differ only in signs (points ±p) share their even and odd halves."""
    results: list[Expr] = []
    while len(results) < len(matrix):
        row = matrix[len(results)]
        mirror = matrix[len(results) + 1] if len(results) + 1 < len(matrix) else None
        if mirror is None or [abs(a) for a in row] != [abs(b) for b in mirror]:
            results.append(weighted_sum(row, values))
            continue
        even = weighted_sum([a if a == b else Fraction(0) for a, b in zip(row, mirror)], values)
        odd = weighted_sum([a if a != b else Fraction(0) for a, b in zip(row, mirror)], values)
        results += [apply("add", even, odd), apply("sub", even, odd)]
    return results


def weighted_sum(row: Row, values: Sequence[Expr]) -> Expr:
    """Σ row·values without the zeros; neighbours of one magnitude are added before they are multiplied, and the last
    coefficient is factored out, so that equal parts of several rows are equal expressions."""
    terms: list[tuple[Fraction, Expr]] = []
    position = 0
    while position < len(row):
        factor, value = row[position], values[position]
        follower = row[position + 1] if position + 1 < len(row) else Fraction(0)
        if factor and abs(follower) == abs(factor):
            value = apply("add" if follower == factor else "sub", value, values[position + 1])
            position += 1
        if factor:
            terms.append((factor, value))
        position += 1
    lead = terms[-1][0]
    total: Expr | None = None
    for factor, value in reversed(terms):
        total = _add(total, factor / lead, value)
    assert total is not None
    return total if lead == 1 else apply("mul", total, Const(float(lead), total.dtype))


def _add(total: Expr | None, factor: Fraction, value: Expr) -> Expr:
    if total is None:
        return value
    if abs(factor) == 1:
        return apply("add" if factor == 1 else "sub", total, value)
    return apply("add", total, apply("mul", value, Const(float(factor), value.dtype)))
