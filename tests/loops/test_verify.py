"""The verifier of nests: each fault is found and named, sound nests pass."""

import pytest

from strop.core.problem import Problem
from strop.loops.index import Var, index_of
from strop.loops.ir import Apply, Buffer, Const, Guard, Load, Loop, Nest, Store
from strop.loops.verify import verify

X = Buffer("x", "f32", (8,), "input")
Y = Buffer("y", "f32", (8,), "arena")
Z = Buffer("z", "f32", (8,), "output")
i, j = Var("i", 8), Var("j", 8)


def nest(*body, loops=(i,), scratch=(), name="k"):
    return Nest(tuple(Loop(var) for var in loops), tuple(body), tuple(scratch), name)


def at(*parts):
    return tuple(index_of(part) for part in parts)


COPY = nest(Store(Y, at(i), Load(X, at(i))))


def test_sound_nests_pass():
    inside = Load(X, (index_of(i) - 1,), (Guard(index_of(i) - 1, 8),), 0.0)
    acc = Buffer("acc", "f32", (), "scratch")
    summed = nest(
        Store(acc, (), Const(0.0, "f32")),
        Nest((Loop(j, "reduce"),), (Store(acc, (), Load(Y, at(j)), "sum"),)),
        Store(Z, at(i), Load(acc, ())),
        scratch=(acc,),
    )
    verify([COPY, summed, nest(Store(Y, at(i), inside))])


FAULTS = {
    "nobody has written": [nest(Store(Z, at(i), Load(Y, at(i))))],
    "belongs to the caller": [nest(Store(X, at(i), Const(0.0, "f32")))],
    "no loop binds j": [nest(Store(Y, at(j), Const(0.0, "f32")))],
    "runs from -1 to 6": [nest(Store(Y, at(i), Load(X, (index_of(i) - 1,))))],
    "runs from 1 to 8": [nest(Store(Y, (index_of(i) + 1,), Const(0.0, "f32")))],
    "has 2 indices": [nest(Store(Y, at(i, i), Const(0.0, "f32")))],
    "stores i64 into y": [nest(Store(Y, at(i), Const(1, "i64")))],
    "scratch is not declared": [nest(Store(Buffer("acc", "f32", (), "scratch"), (), Const(0.0, "f32")))],
    "share a name": [nest(nest(Store(Y, at(i), Const(0.0, "f32"))))],
}


@pytest.mark.parametrize(("told", "steps"), FAULTS.items(), ids=FAULTS)
def test_a_fault_is_named_with_its_nest_and_step(told, steps):
    with pytest.raises(Problem, match=told) as caught:
        verify(steps, "fuse")
    assert caught.value.code == "STR303" and caught.value.message.startswith("k after `fuse`: ")


def test_faults_inside_expressions_are_found():
    deep = Apply("add", (Const(1.0, "f32"), Load(X, (index_of(i) + 1,))), "f32")
    with pytest.raises(Problem, match="runs from 1 to 8"):
        verify([nest(Store(Y, at(i), deep))])


def test_what_others_have_written_may_be_read():
    verify([nest(Store(Z, at(i), Load(Y, at(i))))], "plan", [Y])


def test_a_guarded_store_does_not_guard_what_it_reads():
    over = index_of(i) + 1
    guards = (Guard(over, 8),)
    verify([nest(Store(Y, (over,), Const(0.0, "f32"), guards=guards))])
    with pytest.raises(Problem, match="runs from 1 to 8"):
        verify([nest(Store(Y, (over,), Load(X, (over,)), guards=guards))])
