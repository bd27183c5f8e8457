"""Layouts: every composition of steps can be undone, and every nest computes the same under it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loops.families import FAMILIES, interpreted, lowered, natively
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.loops.index import Index
from strop.loops.layout import Layout, channels_last
from strop.loops.passes.compute_at import ComputeAt
from strop.loops.passes.layouts import Relayout, StoreAt


@st.composite
def steps(draw, shape, most=4):
    """Legal steps for a tensor of a shape, as plain values."""
    made = []
    for _ in range(draw(st.integers(0, most))):
        kinds = ["split", "reorder", "pad", "unfold"] + (["fuse"] if len(shape) > 1 else [])
        kind, dim = draw(st.sampled_from(kinds)), draw(st.integers(0, len(shape) - 1))
        if kind == "split":
            step = (kind, dim, draw(st.integers(1, shape[dim] + 2)))
        elif kind == "reorder":
            step = (kind, tuple(draw(st.permutations(range(len(shape))))))
        elif kind == "pad":
            step = (kind, dim, draw(st.integers(0, 2)), draw(st.integers(0, 3)))
        elif kind == "unfold":
            apart = draw(st.integers(1, 4))
            step = (kind, dim, apart + draw(st.integers(0, 4)), apart)
        else:
            first = draw(st.integers(0, len(shape) - 2))
            step = (kind, first, draw(st.integers(2, len(shape) - first)))
        layout = Layout.of(step)
        grown = layout.shape(shape)
        if len(grown) <= 7 and _size(grown) <= 4000:
            made.append(step)
            shape = grown
    return tuple(made)


def _size(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total


def _numbers(place):
    assert all(part.is_const for part in place)
    return tuple(part.const for part in place)


def _points(shape):
    return product(*map(range, shape))


def _constant(point):
    return tuple(Index(const=i) for i in point)


SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@given(st.data())
@settings(max_examples=60)
def test_every_element_has_its_own_places_and_finds_back_from_each(data):
    shape = data.draw(SHAPES)
    layout = Layout.of(*data.draw(steps(shape)))
    physical = layout.shape(shape)
    owners = {}
    for point in _points(shape):
        at = _constant(point)
        places = [_numbers(p) for p, guards in layout.places(at, shape) if all(g.always for g in guards)]
        assert _numbers(layout.index(at, shape)) in places
        for place in places:
            assert all(0 <= i < extent for i, extent in zip(place, physical, strict=True))
            assert owners.setdefault(place, point) == point
            logical, guards = layout.back(_constant(place), shape)
            assert _numbers(logical) == point and all(g.always for g in guards)
    for place in _points(physical):
        logical, guards = layout.back(_constant(place), shape)
        holds = all(0 <= g.index.const < g.extent for g in guards)
        assert holds == (place in owners)


@given(st.data())
@settings(max_examples=60)
def test_layouts_print_and_parse_back(data):
    shape = data.draw(SHAPES)
    one = Relayout("a.b", data.draw(steps(shape)))
    assert Pass.parse(str(one)) == one
    assert Layout.of(*one.steps).text == one.steps


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
@settings(max_examples=8)
def test_nests_compute_the_same_under_every_layout(family, data):
    program = lowered(family)
    for name in data.draw(st.lists(st.sampled_from(sorted(program.tensors)), min_size=1, max_size=3, unique=True)):
        current = program.tensors
        shape = (current.get(name + ".relaid") or current[name]).shape
        if not shape:
            continue
        one = Relayout(name, data.draw(steps(shape, 3)))
        verdict = one.check(program)
        if verdict:
            program = one(program)
        else:
            assert "reads it while writing it" in verdict.why
    interpreted(family, program)


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
@settings(max_examples=3)
def test_compiled_code_computes_the_same_under_every_layout(family, data):
    program = lowered(family)
    edits = []
    for name in data.draw(st.lists(st.sampled_from(sorted(program.tensors)), min_size=1, max_size=2, unique=True)):
        shape = program.tensors[name].shape
        one = Relayout(name, data.draw(steps(shape, 3))) if shape else None
        if one is not None and one.check(program):
            edits.append(one)
    natively(family, edits)


def test_windows_find_what_they_read_in_one_tile():
    window = Layout.of(("unfold", 0, 5, 2))
    from strop.loops.index import Var, index_of

    o, k = Var("o", 4), Var("k", 5)
    assert [str(part) for part in window.index((index_of(o) * 2 + index_of(k),), (11,))] == ["o", "k"]
    assert [str(part) for part in window.index((index_of(o) + index_of(k),), (11,))] == ["(k+o)//2", "(k+o)%2"]


def test_zeros_are_promised_only_around_whole_dimensions():
    assert Layout.of(("pad", 1, 1, 2), ("reorder", (1, 0)), ("pad", 0, 1, 0)).zeros(2) == {1: (2, 2)}
    assert Layout.of(("split", 0, 2), ("pad", 1, 1, 1)).zeros(1) == {}
    assert channels_last(4, {2: (1, 1), 3: (0, 0)}).zeros(4) == {2: (1, 1)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("relayout{tensor=nobody steps=()}", "there is no tensor `nobody`"),
        ("relayout{tensor=w steps=((split,0,0))}", "`by` must be at least 1"),
        ("relayout{tensor=w steps=((split,9,2))}", "there is no dimension 9; there are 4"),
        ("relayout{tensor=w steps=((reorder,(0,0,1,2)))}", "does not name each of the 4 dimensions once"),
        ("relayout{tensor=w steps=((unfold,2,2,3))}", "leave elements out"),
        ("relayout{tensor=w steps=((fuse,3,2))}", "are not all there"),
        ("relayout{tensor=w steps=((pad,0,-1,0))}", "cannot be padded by -1"),
        ("relayout{tensor=w steps=((turn,0))}", "there is no step `turn`"),
        ("relayout{tensor=w steps=((pad,0))}", "does not take 1 values"),
        ("storeat{tensor=w host=w dim=0}", "behind itself"),
        ("storeat{tensor=b host=w dim=7}", "has no dimension 7"),
        ("storeat{tensor=b host=w dim=0}", "does not fit behind"),
        ("computeat{nest=first into=y loop=kh}", "`kh` is a loop of an inner nest"),
        ("computeat{nest=first into=y loop=zz}", "there is no loop `zz`"),
        ("computeat{nest=y into=first loop=oh}", "is needed outside"),
        ("computeat{nest=nothing into=y loop=oh}", "there is no nest `nothing`"),
    ],
)
def test_refusals_say_why(text, why):
    from loops.families import convolution

    one = Pass.parse(text.replace("))}", "),)}") if text.startswith("relayout") else text)
    program = lowered(convolution)
    with pytest.raises(Problem, match="STR301|" + why.replace("(", r"\(")) as raised:
        one(program)
    assert why in raised.value.message


@pytest.mark.parametrize("dim", [0, 1])
def test_two_tensors_share_one_memory(dim):
    from loops.families import batched_matmul, linear

    one = StoreAt("b", "w", 1)
    interpreted(linear, one(lowered(linear)))
    natively(linear, [one])
    both = StoreAt("x0", "x1", dim)
    assert not both.check(lowered(batched_matmul))


def test_what_is_stored_behind_another_is_not_copied_once_more():
    from loops.families import linear

    one = StoreAt("b", "w", 1)
    program = one(lowered(linear))
    for again in (one, Pass.parse("bordercopy{tensor=b}"), Pass.parse("relayout{tensor=w steps=((fuse,0,2),)}")):
        verdict = again.check(program)
        assert not verdict and "is copied already" in str(verdict)
    assert not [other for other in StoreAt.space(program) if "b" in (other.tensor, other.host)]


@pytest.mark.parametrize("loop", ["n", "oc", "oh", "ow"])
def test_a_producer_runs_inside_its_reader(loop):
    from loops.families import convolution

    names = [nest.name for nest in lowered(convolution).nests]
    one = ComputeAt(names[0], names[1], loop)
    program = one(lowered(convolution))
    assert len(program.nests) == len(names) - 1
    interpreted(convolution, program)
    natively(convolution, [one])


@pytest.mark.parametrize("family", FAMILIES)
def test_an_input_that_lies_as_a_person_said_is_not_laid_out_again(family):
    program = lowered(family)
    flat = [Relayout(name, (("fuse", 0, len(b.shape)),)) for name, b in program.tensors.items() if len(b.shape) > 1]
    fitting = [one for one in flat if one.check(program)]
    natively(family, fitting[:1])
