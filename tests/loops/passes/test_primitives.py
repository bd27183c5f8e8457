"""Loop primitives: whatever sequence of them is legal computes what the nest computed before, and refusals say why."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loops.families import FAMILIES, interpreted, linear, lowered, natively, planned, pointwise
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.graph import build
from strop.graph.ir import Graph
from strop.loops.index import Var, index_of
from strop.loops.ir import Buffer, Const, Load, Loop, Nest, Store, loads
from strop.loops.lower.graph import lower
from strop.loops.passes.blocking import Block, RFactor, Subtotal
from strop.loops.passes.loop_modes import Parallelise, Unroll, Vectorise, ready
from strop.loops.passes.packing import Pack, Prefetch, PrefetchNext
from strop.loops.passes.primitives import Fuse, Reorder, Reset, Serpentine, Sink, Split


def owners(nest):
    """Every nest inside, itself first, that has loops."""
    if nest.loops:
        yield nest
    for item in nest.body:
        if isinstance(item, Nest):
            yield from owners(item)


def a_pass(rng, nest):
    """Some pass on some loop; not always legal."""
    owner = rng.choice(list(owners(nest)))
    names = [loop.name for loop in owner.loops]
    loop = rng.choice(names)
    every = [other.name for other in nest.all_loops]
    buffers = [b.name for b in nest.reads] or ["none"]
    kind = rng.choice((
        Split, Split, Split, Reorder, Fuse, Sink, RFactor, Subtotal, Pack, Serpentine, Prefetch, PrefetchNext, Block, Unroll,
        Vectorise, Parallelise,
    ))  # fmt: skip
    name = nest.name
    if kind is Split:
        return Split(name, loop, rng.randint(1, 9), rng.choice(("balanced", "rest")))
    if kind is Reorder:
        return Reorder(name, tuple(rng.sample(names, len(names))))
    if kind is Fuse:
        return Fuse(name, loop, rng.choice(names))
    if kind is Sink:
        return Sink(name, tuple(names[-rng.randint(1, len(names)) :]))
    if kind is RFactor:
        return RFactor(name, loop, rng.randint(1, 8))
    if kind is Subtotal:
        return Subtotal(name, rng.choice(every), rng.randint(1, 5))
    if kind is Pack:
        buffer = rng.choice(buffers)
        found = {v.name for s in nest.stores for load in loads(s) if load.buffer.name == buffer for v in load.vars}
        order = sorted(found - {loop})
        return Pack(
            name, buffer, loop, rng.randint(1, 8), tuple(rng.sample(order, len(order))), rng.choice(["", *every])
        )
    if kind is Serpentine:
        return Serpentine(name, loop, rng.choice(every), rng.choice([False, True]))
    if kind is Prefetch:
        return Prefetch(name, rng.choice(buffers), rng.randint(1, 64))
    if kind is PrefetchNext:
        return PrefetchNext(name, rng.choice(buffers), loop)
    if kind is Block:
        inside = tuple(n.name for n in nest.loops[-rng.randint(1, max(len(nest.loops), 1)) :])
        return Block(name, loop, rng.randint(1, 4), inside)
    return kind(name, loop)


def scheduled(rng, nest, most=8):
    """A nest after some legal passes, the passes, and the nests that fill its packed operands."""
    passes, copies = [], []
    for _ in range(rng.randint(1, most)):
        one = a_pass(rng, nest)
        if not one.check(nest):
            continue
        if len(nest.all_loops) > 30:
            break
        if isinstance(one, Pack) and not one.at:
            copies.append(one.copy(nest))
        nest = one(nest)
        passes.append(one)
    return nest, passes, copies


@pytest.mark.parametrize("family", FAMILIES)
@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_legal_sequences_of_passes_change_nothing(family, rng):
    program = lowered(family)
    steps = []
    for nest in program.nests:
        made, _, copies = scheduled(rng, nest)
        steps += [*copies, made]
    interpreted(family, replace(program, nests=tuple(steps)))


@pytest.mark.parametrize("family", FAMILIES)
@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=3)
def test_legal_sequences_of_passes_compile_to_the_same(family, rng):
    edits = []
    for nest in planned(family):
        made, passes, _ = scheduled(rng, nest)
        if ready(made):
            edits += [Reset(nest.name), *passes]
    natively(family, edits, threads=rng.randint(1, 2))


def register_tile(nest: Nest, rows: str, row_tile: int, lanes: str, lane_tile: int) -> list[Pass]:
    """A tile of accumulators in registers over two output loops: the passes that a person would write for it."""
    extents = {loop.name: loop.extent for loop in nest.loops}
    others = [name for name in extents if name not in (rows, lanes)]
    passes: list[Pass] = [Reorder(nest.name, (*others, lanes, rows))]
    lane = row = ""
    if extents[lanes] > lane_tile:
        lane = f"{lanes}.i"
        passes += [Split(nest.name, lanes, lane_tile, "rest"), Reorder(nest.name, (f"{lanes}.o", rows, lane))]
    else:
        passes.append(Reorder(nest.name, (rows, lanes)))
    if extents[rows] > row_tile:
        row = f"{rows}.i"
        passes.append(Split(nest.name, rows, row_tile))
    tile = (row or rows, lane or lanes)
    return [*passes, Unroll(nest.name, tile[0]), Vectorise(nest.name, tile[1]), Sink(nest.name, tile)]


@pytest.mark.parametrize(("rows", "lanes"), [(1, 2), (2, 4), (3, 8), (5, 3), (9, 16)])
def test_register_tiles_of_any_size(rows, lanes):
    (nest,) = lowered(linear).nests
    passes = register_tile(nest, "m0", rows, "n", lanes)
    natively(linear, [Reset(nest.name), *passes])


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (Split("product", "m0", 0), "`by` must be at least 1, got 0"),
        (Split("product", "zz", 2), "there is no loop `zz`; the loops are m0, n, k"),
        (Split("product", "k", 2, "even"), "tail must be"),
        (Reorder("product", ("m0", "k")), "are not loops of the same nest"),
        (Reorder("product", ("m0", "m0")), "named twice"),
        (Fuse("product", "n", "m0"), "`m0` is not directly inside `n`"),
        (Sink("product", ("m0",)), "only the innermost loops (n) can sink"),
        (RFactor("product", "n", 2), "must be the innermost loop of a plain nest"),
        (RFactor("product", "k", 9), "`by` must be between 2 and 7, got 9"),
        (Subtotal("product", "n", 2), "`n` must be a loop of a reduction that stays a loop"),
        (Subtotal("product", "k", 0), "`by` must be at least 1, got 0"),
        (Pack("product", "w", "n", 4, ()), "the read also depends on `k`"),
        (Pack("product", "nobody", "n", 4, ("k",)), "is read in 0 ways"),
        (Pack("product", "w", "n", 0, ("k",)), "`by` must be at least 1"),
        (Pack("product", "w", "n", 4, ("k",), "n"), "`n` is outside of `n`"),
        (Serpentine("product", "m0", "n"), "must be the innermost loop"),
        (Prefetch("product", "w", 0), "`ahead` must be at least 1"),
        (Prefetch("product", "nobody", 1), "`nobody` is not read"),
        (PrefetchNext("product", "w", "m0"), "`w` isn't read part by part along `m0`"),
        (Parallelise("product", "n"), "only the outermost loop"),
        (Block("product", "m0", 2, ("n",)), "`m0` is not a loop of the reduction"),
    ],
)
def test_refusals_say_why(one: Pass, why: str):
    (nest,) = lowered(linear).nests
    nest = replace(nest, name="product")
    with pytest.raises(Problem) as raised:
        one(nest)
    assert raised.value.code == "STR301" and why in raised.value.message


def test_what_cannot_be_a_vector_is_refused_before_code_is_made():
    (nest,) = lowered(pointwise).nests
    assert "stays a loop inside the vector loop" in ready(Vectorise(nest.name, nest.loops[0].name)(nest)).why
    (nest,) = lowered(linear).nests
    made = Vectorise(nest.name, "n")(nest)
    assert "lanes of `n` would share `acc`: sink the loop first" in ready(made).why
    assert ready(Sink(nest.name, ("n",))(made))


@pytest.mark.parametrize(("rows", "by"), [(8, 4), (26, 13), (6, 3)])
def test_every_line_of_the_next_panel_is_asked_for_while_this_one_is_used(rows, by):
    asked = asked_of_the_second_panel(rows, by)
    panel = 32 * 48 // 16
    assert asked >= set(range(2 * panel, 3 * panel))


def test_a_panel_that_is_used_for_long_does_not_ask_for_the_next():
    assert not asked_of_the_second_panel(400, 4)


def asked_of_the_second_panel(rows, by):
    """The lines that are asked for meanwhile."""
    x, w = build.input(0, "f32", (rows, 48), "x"), build.param("w", "f32", (96, 48))
    (nest,) = lower(Graph((x,), (w,), (build.linear(x, w),))).nests
    for one in (
        Pack(nest.name, "w", "n", 32, ("k",)),
        *register_tile(nest, "m0", by, "n", 32),
        Reorder(nest.name, ("n.o", "m0.o")),
        PrefetchNext(nest.name, f"{nest.name}.w", "n.o"),
    ):
        nest = one(nest)
    asked = set()
    for values, load in executed(nest):
        if load.prefetch is not None and values["n.o"] == 1:
            asked.add(load.prefetch.evaluate({v: values[v.name] for v in load.prefetch.vars}) // 16)
    return asked


def executed(nest, values=None):
    """Every read of a nest with the values of the loops around it."""
    for step in product(*(range(loop.extent) for loop in nest.loops)):
        now = {**(values or {}), **{loop.name: i for loop, i in zip(nest.loops, step)}}
        for item in nest.body:
            if isinstance(item, Nest):
                yield from executed(item, now)
            else:
                yield from ((now, load) for load in loads(item))


def test_lanes_add_up_once_what_two_statements_add_to() -> None:
    k, total = Loop(Var("k", 8), "reduce"), Buffer("total", "f32", (), "scratch")
    add = Store(total, (), Load(Buffer("x", "f32", (8,), "input"), (index_of(k.var),)), "sum")
    start, end = Store(total, (), Const(0.0, "f32")), Store(Buffer("y", "f32", (), "output"), (), Load(total, ()))
    nest = Nest((), (start, Nest((k,), (add, add)), end), (total,), "twice")
    assert str(RFactor("twice", "k", 4).apply(nest)).count("total[] += ") == 1


def test_subtotals_stand_around_a_tile_once() -> None:
    """Every block starts and ends once, whatever its steps do, and the rest is a block of its own."""
    k, lane = Loop(Var("k", 11), "reduce"), Loop(Var("l", 4), mode="vector")
    total, place = Buffer("total", "f32", (4,), "scratch"), (index_of(lane.var),)
    add = Store(total, place, Load(Buffer("x", "f32", (11, 4), "input"), (index_of(k.var), *place)), "sum")
    start = Nest((lane,), (Store(total, place, Const(0.0, "f32")),))
    end = Nest((lane,), (Store(Buffer("y", "f32", (4,), "output"), place, Load(total, place)),))
    nest = Nest((), (start, Nest((k,), (Nest((lane,), (add,)),)), end), (total,), "sums")
    made = Subtotal("sums", "k", 4).apply(nest)
    assert [(loop.name, loop.extent) for loop in made.all_loops if loop.kind == "reduce"] == [
        ("k.s", 2), ("k", 4), ("k.s", 1), ("k", 3),
    ]  # fmt: skip
    assert str(made).count("total[l] += total.k[l]") == 2
    assert not Subtotal("sums", "k", 2).check(made)
    assert Subtotal("sums", "k", 16).apply(nest) == nest


def test_sinking_loops_asks_every_piece_that_has_them():
    """A split has made pieces of a nest, in one of which the loops are not the innermost ones."""
    x, y = Buffer("x", "f32", (4, 4), "input"), Buffer("y", "f32", (4, 4), "output")

    def piece(*names: str) -> Nest:
        i, j = (Var(name, 4) for name in names)
        scratch = Buffer(f"{names[0]}.held", "f32", (), "scratch")
        held = Nest((), (Store(scratch, (), Load(x, (index_of(i), index_of(j)))),))
        loops = (Loop(i, "parallel"), Loop(j, "parallel"))
        return Nest(loops, (held, Store(y, (index_of(i), index_of(j)), Load(scratch, ()))), (scratch,))

    pieces = Nest((), (piece("i", "j"), piece("i", "k")), name="n")
    assert "innermost" in Sink("n", ("i", "j")).check(pieces).why
    assert Sink("n", ("i", "j")).check(Nest((), (piece("i", "j"), piece("l", "k")), name="n"))
