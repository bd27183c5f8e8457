"""Symbolic extents: what is answered holds for every value of the symbols, and everything else is refused."""

from __future__ import annotations

import math
import operator
import pickle
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.core.extents import (
    Symbol,
    SymbolicExtent,
    UnknownExtent,
    ambiguity,
    bounds,
    common_divisor,
    evaluate,
    symbol,
    symbols,
)
from strop.core.problem import Problem

n, m, k = symbol("n", 1, 6), symbol("m", 2, 5), symbol("k", 0, 3)
VALUES = [dict(zip("nmk", point)) for point in product(range(1, 7), range(2, 6), range(4))]


def _combine(children):
    return st.tuples(st.sampled_from((operator.add, operator.sub, operator.mul)), children, children).map(
        lambda parts: parts[0](parts[1], parts[2])
    )


EXTENTS = st.recursive(st.one_of(st.sampled_from((n, m, k)), st.integers(-4, 6)), _combine, max_leaves=5)


@settings(deadline=None)
@given(EXTENTS, EXTENTS)
def test_arithmetic_is_that_of_the_values(a, b):
    for values in VALUES:
        x, y = evaluate(a, values), evaluate(b, values)
        assert evaluate(a + b, values) == x + y
        assert evaluate(a - b, values) == x - y
        assert evaluate(a * b, values) == x * y


@settings(deadline=None)
@given(EXTENTS)
def test_a_value_lies_between_the_bounds(a):
    low, high = bounds(a)
    assert all(low <= evaluate(a, values) <= high for values in VALUES)


@settings(deadline=None)
@given(EXTENTS, EXTENTS, st.sampled_from((operator.lt, operator.le, operator.gt, operator.ge)))
def test_an_order_that_is_answered_holds_for_all_values(a, b, compare):
    try:
        answer = compare(a, b)
    except UnknownExtent:
        return
    assert all(compare(evaluate(a, values), evaluate(b, values)) == answer for values in VALUES)


@settings(deadline=None, max_examples=300)
@given(EXTENTS, EXTENTS, st.sampled_from((operator.floordiv, operator.mod)))
def test_a_division_that_is_answered_holds_for_all_values(a, b, divide):
    try:
        answer = divide(a, b)
    except (UnknownExtent, ZeroDivisionError):
        return
    assert all(divide(evaluate(a, values), evaluate(b, values)) == evaluate(answer, values) for values in VALUES)


@settings(deadline=None)
@given(st.lists(EXTENTS, min_size=1, max_size=3))
def test_a_common_divisor_divides(some):
    shared = common_divisor(some)
    for values in VALUES:
        by = evaluate(shared, values)
        assert all(evaluate(one, values) % by == 0 if by else evaluate(one, values) == 0 for one in some)


def test_equality_is_that_of_expressions():
    assert (n + 1) * 2 == 2 * n + 2 and hash((n + 1) * 2) == hash(2 * n + 2)
    assert n * m == m * n
    assert n - n == 0 and isinstance(n - n, int)
    assert n != m and n != 3
    assert symbol("n", 1, 6) != symbol("n", 1, 7)


def test_bounds_decide():
    assert n < 7 and n >= 1 and not n > 6
    assert n + 1 > n and 2 * n >= n and n * m > n
    assert max(n - 1, 0) == n - 1 and abs(-n) == n
    assert bounds(n * m - n) == (1, 24)


def test_symbols_of_one_name_are_told_apart_by_their_bounds():
    assert bounds(n - symbol("n", 1, 9)) == (-8, 5)


def test_divisions_that_come_out_even():
    assert n * m // m == n and n * m % m == 0
    assert (64 * n - 1) // 64 == n - 1 and (64 * n + 5) % 64 == 5
    assert (n * m - 1) // m == n - 1
    assert (n * m + n) // (m + 1) == n


@pytest.mark.parametrize(
    "ask, told",
    [
        (lambda: n < 3, "whether n < 3 depends on the value of n:1..6"),
        (lambda: n // 2, r"\(n\) // \(2\) depends on the value of n:1..6"),
        (lambda: 7 % n, r"\(7\) // \(n\) depends on the value of n:1..6"),
        (lambda: m // k, r"\(m\) // \(k\) depends on the value of k:0..3, m:2..5"),
        (lambda: bool(k), "whether k is zero depends on the value of k:0..3"),
        (lambda: sorted((n, m)), "whether m < n depends on the value of m:2..5, n:1..6"),
        (lambda: range(n), "which number n is depends"),
        (lambda: math.gcd(n, 2), "which number n is depends"),
        (lambda: float(n * m), "which number m\\*n is depends"),
        (lambda: n / 2, "which number n is depends"),
        (lambda: 0.5 * n, "which number n is depends"),
        (lambda: math.ceil(n), "which number n is depends"),
    ],
)
def test_what_depends_on_the_value_is_refused(ask, told):
    with pytest.raises(UnknownExtent, match=told) as caught:
        ask()
    assert caught.value.code == "STR203" and caught.value.help


def test_text_is_the_expression_and_repr_adds_its_bounds():
    extent = 2 * n * m - k + 3
    assert str(extent) == "2*m*n-k+3"
    assert repr(extent) == "2*m*n-k+3:4..63"
    assert repr(n) == "n:1..6"


def test_a_symbol_of_one_value_is_a_number():
    assert symbol("n", 4, 4) == 4


@pytest.mark.parametrize("name, low, high", [("n", -1, 4), ("n", 5, 4), ("2n", 1, 4), ("", 1, 4)])
def test_what_is_no_symbol_is_refused(name, low, high):
    with pytest.raises(Problem) as caught:
        symbol(name, low, high)
    assert caught.value.code == "STR001"


def test_a_name_with_two_bounds_is_ambiguous():
    known: dict[str, Symbol] = {}
    assert ambiguity(symbols((n * m, 3)), known) == ""
    assert ambiguity(symbols((symbol("n", 1, 9),)), known) == "symbol `n` has the bounds 1..9, elsewhere 1..6"


def test_extents_can_be_copied_between_processes():
    assert pickle.loads(pickle.dumps(n * m + 1)) == n * m + 1
    assert isinstance(pickle.loads(pickle.dumps(n)), SymbolicExtent)
