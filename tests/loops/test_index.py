"""Index arithmetic: what simplifies must stay equal, and views must agree with torch's own."""

from __future__ import annotations

from itertools import product
from math import prod

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.graph.ir import Node, Type
from strop.loops.index import Index, Var, flatten, index_of, unflatten
from strop.loops.lower import VIEW_MAPS, load_families

load_families()
VARS = (Var("a", 6), Var("b", 4), Var("c", 1), Var("d", 12))


class Plain:
    """An expression beside its value at any point, computed without simplification."""

    def __init__(self, index, at):
        self.index, self.at = index, at


def _combine(children):
    pairs = st.tuples(children, children)
    numbers = st.integers(-7, 12)
    divisors = st.integers(1, 12)
    return st.one_of(
        pairs.map(lambda p: Plain(p[0].index + p[1].index, lambda v, p=p: p[0].at(v) + p[1].at(v))),
        pairs.map(lambda p: Plain(p[0].index - p[1].index, lambda v, p=p: p[0].at(v) - p[1].at(v))),
        st.tuples(children, numbers).map(lambda p: Plain(p[0].index * p[1], lambda v, p=p: p[0].at(v) * p[1])),
        st.tuples(children, numbers).map(lambda p: Plain(p[0].index + p[1], lambda v, p=p: p[0].at(v) + p[1])),
        st.tuples(children, divisors).map(lambda p: Plain(p[0].index // p[1], lambda v, p=p: p[0].at(v) // p[1])),
        st.tuples(children, divisors).map(lambda p: Plain(p[0].index % p[1], lambda v, p=p: p[0].at(v) % p[1])),
    )


LEAVES = st.sampled_from(VARS).map(lambda var: Plain(index_of(var), lambda values, var=var: values[var]))
EXPRESSIONS = st.recursive(LEAVES, _combine, max_leaves=8)
POINTS = [dict(zip(VARS, point)) for point in product((0, 1, 3, 5), (0, 2, 3), (0,), (0, 1, 5, 6, 11))]


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS)
def test_simplification_keeps_the_value(plain):
    low, high = plain.index.bounds
    for values in POINTS:
        want = plain.at(values)
        assert plain.index.evaluate(values) == want, plain.index
        assert low <= want <= high


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS)
def test_substitution_keeps_the_value(plain):
    """Splitting a loop: d = 4·outer + inner."""
    outer, inner = Var("outer", 3), Var("inner", 4)
    split = plain.index.substitute({VARS[3]: index_of(outer) * 4 + index_of(inner)})
    for a, b, o, i in product((0, 5), (0, 3), (0, 2), (0, 3)):
        values = {VARS[0]: a, VARS[1]: b, VARS[2]: 0}
        assert split.evaluate({**values, outer: o, inner: i}) == plain.at({**values, VARS[3]: 4 * o + i})


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, st.sampled_from(VARS))
def test_a_coefficient_is_the_distance_of_one_step(plain, var):
    step = plain.index.coefficient(var)
    if step is None or var.extent == 1:
        return
    for values in POINTS:
        if values[var] + 1 < var.extent:
            assert plain.at({**values, var: values[var] + 1}) - plain.at(values) == step


SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@settings(deadline=None)
@given(SHAPES)
def test_flatten_and_unflatten_are_inverse(shape):
    index = tuple(index_of(Var(f"i{d}", extent)) for d, extent in enumerate(shape))
    assert unflatten(flatten(index, shape), shape) == index
    offset = index_of(Var("o", prod(shape)))
    assert flatten(unflatten(offset, shape), shape) == offset


def test_what_tiling_writes_simplifies():
    o, i, n = index_of(Var("o", 5)), index_of(Var("i", 6)), index_of(Var("n", 56))
    assert (o * 6 + i) // 6 == o
    assert (o * 6 + i) % 6 == i
    assert (n // 8) * 8 + n % 8 == n
    assert (n // 8) % 3 * 8 + n % 8 == n % 24
    assert (n // 4) // 2 == n // 8
    assert (n % 8) // 2 == (n // 2) % 4
    assert (n * 4 + 1) % 2 == Index(const=1)


# ---- views ----------------------------------------------------------------------------------------------------------


def agrees(op: str, x: torch.Tensor, result: torch.Tensor, **attrs: object) -> None:
    """Every element of torch's view is the element of x that the index map names."""
    source = Node("input", types=(Type("f32", tuple(x.shape)),))
    node = Node(op, (source,), attrs, (Type("f32", tuple(result.shape)),), op)
    loops = tuple(Var(f"i{d}", extent) for d, extent in enumerate(result.shape))
    index = VIEW_MAPS[op](node, tuple(map(index_of, loops)))
    assert len(index) == x.dim()
    for point in product(*(range(extent) for extent in result.shape)):
        values = dict(zip(loops, point))
        assert result[point] == x[tuple(part.evaluate(values) for part in index)], (op, attrs, point)


def numbered(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.arange(prod(shape), dtype=torch.float32).reshape(shape)


FEW = settings(max_examples=40, deadline=None)
NONEMPTY = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def reshapes(draw):
    factors = draw(st.lists(st.sampled_from((1, 2, 2, 3, 5)), max_size=5))

    def grouped():
        shape, rest = [], list(draw(st.permutations(factors)) if draw(st.booleans()) else factors)
        while rest:
            take = draw(st.integers(1, len(rest)))
            shape.append(prod(rest[:take]))
            rest = rest[take:]
        return tuple(shape)

    return grouped(), grouped()


@FEW
@given(reshapes())
def test_reshape(shapes):
    x = numbered(shapes[0])
    agrees("reshape", x, x.reshape(shapes[1]))


@FEW
@given(NONEMPTY, st.data())
def test_permute_and_flip(shape, data):
    x = numbered(shape)
    dims = tuple(data.draw(st.permutations(range(len(shape)))))
    agrees("permute", x, x.permute(dims), dims=dims)
    chosen = dims[: data.draw(st.integers(0, len(dims)))]
    agrees("flip", x, x.flip(chosen), dims=chosen)


@FEW
@given(NONEMPTY, st.data())
def test_expand(shape, data):
    narrow = tuple(data.draw(st.sampled_from((1, extent))) for extent in shape)
    first = data.draw(st.integers(0, len(shape)))
    x = numbered(narrow[first:])
    agrees("expand", x, x.expand(shape))


@FEW
@given(NONEMPTY, st.data())
def test_slice_select_and_unfold(shape, data):
    x = numbered(shape)
    dim = data.draw(st.integers(0, len(shape) - 1))
    start = data.draw(st.integers(0, shape[dim] - 1))
    step = data.draw(st.integers(1, 3))
    place = (slice(None),) * dim
    agrees("slice", x, x[(*place, slice(start, None, step))], dim=dim, start=start, step=step)
    agrees("select", x, x.select(dim, start), dim=dim, index=start)
    size = data.draw(st.integers(1, shape[dim]))
    agrees("unfold", x, x.unfold(dim, size, step), dim=dim, size=size, step=step)


@FEW
@given(st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple), st.data())
def test_diagonal(shape, data):
    x = numbered(shape)
    first, second = data.draw(st.permutations(range(len(shape))))[:2]
    offset = data.draw(st.integers(1 - shape[first], shape[second] - 1))
    agrees("diagonal", x, x.diagonal(offset, first, second), offset=offset, dim1=first, dim2=second)
