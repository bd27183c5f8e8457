"""Index arithmetic over symbolic extents: at every value within the bounds it is the arithmetic of integers."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.core.extents import UnknownExtent, evaluate, symbol
from strop.core.problem import Problem
from strop.graph.ir import Node, Type
from strop.loops.index import Index, Quotient, Remainder, Var, flatten, index_of, unflatten
from strop.loops.ir import Buffer, Const, Guard, Load, Loop, Nest, Store
from strop.loops.lower import VIEW_MAPS, load_families
from strop.loops.verify import verify

load_families()
n, m = symbol("n", 1, 5), symbol("m", 2, 4)
a, b, c = Var("a", n), Var("b", 4), Var("c", n * m)
SYMBOLS = [{"n": x, "m": y} for x, y in product((1, 2, 5), (2, 3, 4))]


def value(index: Index, point: dict[Var, int], symbols: dict[str, int]) -> int:
    """An index at one point, term by term."""
    total = evaluate(index.const, symbols)
    for atom, factor in index.terms:
        if isinstance(atom, Var):
            part = point[atom]
        else:
            inner, by = value(atom.of, point, symbols), evaluate(atom.by, symbols)
            assert isinstance(atom, Quotient | Remainder)
            part = inner // by if isinstance(atom, Quotient) else inner % by
        total += evaluate(factor, symbols) * part
    return total


def points(symbols: dict[str, int], *loops: Var) -> list[dict[Var, int]]:
    return [dict(zip(loops, at)) for at in product(*(range(evaluate(v.extent, symbols)) for v in loops))]


class Plain:
    """An expression beside its value at any point, computed without simplification."""

    def __init__(self, index, at):
        self.index, self.at = index, at


DIVISORS = st.sampled_from((1, 2, 3, 4, n, m, n * m, 2 * n, m + 1))
FACTORS = st.sampled_from((-3, -1, 2, 4, n, m, -m, n * m, n - m))


def _combine(children):
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: Plain(p[0].index + p[1].index, lambda v, s: p[0].at(v, s) + p[1].at(v, s))),
        pairs.map(lambda p: Plain(p[0].index - p[1].index, lambda v, s: p[0].at(v, s) - p[1].at(v, s))),
        st.tuples(children, FACTORS).map(
            lambda p: Plain(p[0].index * p[1], lambda v, s: p[0].at(v, s) * evaluate(p[1], s))
        ),
        st.tuples(children, FACTORS).map(
            lambda p: Plain(p[0].index + p[1], lambda v, s: p[0].at(v, s) + evaluate(p[1], s))
        ),
        st.tuples(children, DIVISORS).map(
            lambda p: Plain(p[0].index // p[1], lambda v, s: p[0].at(v, s) // evaluate(p[1], s))
        ),
        st.tuples(children, DIVISORS).map(
            lambda p: Plain(p[0].index % p[1], lambda v, s: p[0].at(v, s) % evaluate(p[1], s))
        ),
    )


LEAVES = st.sampled_from((a, b, c)).map(lambda var: Plain(index_of(var), lambda v, s: v[var]))
EXPRESSIONS = st.recursive(LEAVES, _combine, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_simplification_keeps_the_value_and_the_bounds_hold(plain):
    low, high = plain.index.bounds
    for symbols in SYMBOLS:
        for point in points(symbols, a, b, c)[:: 1 + symbols["n"]]:
            want = plain.at(point, symbols)
            assert value(plain.index, point, symbols) == want, plain.index
            assert evaluate(low, symbols) <= want <= evaluate(high, symbols), plain.index


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS)
def test_substitution_keeps_the_value(plain):
    """Splitting a loop of n·m: c = m·outer + inner."""
    outer, inner = Var("outer", n), Var("inner", m)
    split = plain.index.substitute({c: index_of(outer) * m + index_of(inner)})
    for symbols in SYMBOLS:
        for point in points(symbols, a, b, outer, inner)[:: 1 + symbols["n"]]:
            whole = {**point, c: symbols["m"] * point[outer] + point[inner]}
            assert value(split, point, symbols) == plain.at(whole, symbols)


EXTENTS = st.sampled_from((1, 2, 3, n, m, 2 * n, n * m, n + 1))


@settings(deadline=None)
@given(st.lists(EXTENTS, max_size=4).map(tuple))
def test_flatten_and_unflatten_are_inverse(shape):
    index = tuple(index_of(Var(f"i{d}", extent)) for d, extent in enumerate(shape))
    assert unflatten(flatten(index, shape), shape) == index


RESHAPES = [
    ((n, 12), (n, 3, 4)),
    ((n, 3, 4), (n * 3, 4)),
    ((n, m, 6), (n * m, 6)),
    ((n * m, 6), (n, m, 2, 3)),
    ((n, m), (m, n)),
    ((n, m, 2), (2 * m, n)),
    ((1, n), (n, 1, 1)),
]


@pytest.mark.parametrize("source, target", RESHAPES)
def test_a_reshape_reads_the_element_at_the_same_offset(source, target):
    node = Node("reshape", (Node("input", types=(Type("f32", source),)),), {}, (Type("f32", target),), "r")
    loops = tuple(Var(f"i{d}", extent) for d, extent in enumerate(target))
    index = VIEW_MAPS["reshape"](node, tuple(map(index_of, loops)))
    for symbols in SYMBOLS:
        shape = [evaluate(extent, symbols) for extent in source]
        offsets = []
        for point in points(symbols, *loops):
            place = [value(part, point, symbols) for part in index]
            assert all(0 <= at < extent for at, extent in zip(place, shape))
            offsets.append(sum(at * prod(shape[d + 1 :]) for d, at in enumerate(place)))
        assert offsets == list(range(prod(shape)))


def test_what_lines_up_simplifies():
    i, j = index_of(Var("i", n)), index_of(Var("j", m))
    assert (i * m + j) // m == i
    assert (i * m + j) % m == j
    assert (i * (2 * m) + j * 2) // (2 * m) == i
    assert index_of(c) // m * m + index_of(c) % m == index_of(c)


def test_what_bounds_do_not_decide_stays_as_it_is():
    i = index_of(Var("i", n))
    assert str(i // 2) == "(i)//2" and str(i % m) == "(i)%{m}"
    assert str(i * n + m - 1) == "{n}*i+{m-1}"
    assert str(Index(const=m) // n) == "({m})//{n}" and str(Index(const=m) % n) == "({m})%{n}"


def test_a_divisor_that_may_be_zero_is_refused():
    with pytest.raises(UnknownExtent):
        index_of(b) // symbol("z", 0, 4)


# ---- guards and the verifier -----------------------------------------------------------------------------------------


def test_a_guard_holds_always_only_where_that_is_known():
    i = index_of(Var("i", n))
    assert Guard(i, n).always and Guard(i, n + 1).always
    assert not Guard(i + 1, n).always and not Guard(i, m).always
    assert str(Guard(i, n)) == "0<=i<{n}"


def nest(extent, shape, index):
    var = Var("i", extent)
    target = Buffer("y", "f32", shape, "output")
    return Nest((Loop(var),), (Store(target, tuple(index(index_of(var))), Const(0.0, "f32")),), name="k")


def test_accesses_that_stay_inside_for_all_values_pass():
    verify([nest(n, (n,), lambda i: (i,))])
    verify([nest(n, (2 * n,), lambda i: (i * 2 + 1,))])
    verify([nest(n * m, (n, m), lambda i: (i // m, i % m))])


@pytest.mark.parametrize(
    "bad, told",
    [
        (nest(n + 1, (n,), lambda i: (i,)), r"i runs from 0 to n, the dimension has n:1..5"),
        (nest(n, (4,), lambda i: (i,)), r"i runs from 0 to n-1, the dimension has 4"),
        (nest(n, (m,), lambda i: (i,)), r"i runs from 0 to n-1, the dimension has m:2..4"),
    ],
)
def test_accesses_that_may_leave_are_faults(bad, told):
    with pytest.raises(Problem, match=told) as caught:
        verify([bad])
    assert caught.value.code == "STR303"


def test_a_symbol_with_two_bounds_is_a_fault():
    with pytest.raises(Problem, match=r"symbol `n` has the bounds 1\.\.5, elsewhere 1\.\.6"):
        verify([nest(symbol("n", 1, 6), (8,), lambda i: (i,)), nest(n, (8,), lambda i: (i,))])


def test_a_loads_offset_has_symbolic_strides():
    x = Buffer("x", "f32", (2, n, m), "input")
    at = tuple(index_of(Var(name, extent)) for name, extent in zip("ijk", x.shape))
    assert str(Load(x, at).offset) == "{m*n}*i+{m}*j+k"
    assert x.bytes == 8 * n * m
