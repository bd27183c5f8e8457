"""Every schedule that the space holds computes what the nest says, whatever the sizes leave over."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loops.interpret import run
from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.graph import build
from strop.graph.ir import Graph
from strop.graph.passes.simplify import simplify
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.loops.passes.fusion import Hoist
from strop.loops.passes.loop_modes import ready
from strop.schedule.fuse import fuse
from strop.schedule.layouts import choose_layouts
from strop.schedule.sampling import MOST_COPIES, Schedule, copies, draw, sample
from strop.target.description import Target

TARGET = Target.find("znver3")


def product(rows: int, depth: int, columns: int) -> Graph:
    x, weight = build.input(0, "f32", (rows, depth), "x"), build.param("w", "f32", (columns, depth))
    return Graph((x,), (weight,), (build.relu(build.linear(x, weight, build.param("b", "f32", (columns,)))),))


def window(channels: int, out: int, size: int, stride: int = 1, groups: int = 1) -> Graph:
    x = build.input(0, "f32", (1, channels, size, size), "x")
    weight = build.param("w", "f32", (out, channels // groups, 3, 3))
    return Graph((x,), (weight,), (build.conv(x, weight, padding=1, stride=stride, groups=groups),))


def batch(count: int, rows: int, depth: int, columns: int) -> Graph:
    a, b = build.input(0, "f32", (count, rows, depth), "a"), build.input(1, "f32", (count, depth, columns), "b")
    return Graph((a, b), (), (build.matmul(a, b),))


def softmax(rows: int, columns: int) -> Graph:
    x = build.input(0, "f32", (rows, columns), "x")
    return Graph((x,), (), (build.softmax(x),))


def norm(rows: int, columns: int) -> Graph:
    x = build.input(0, "f32", (rows, columns), "x")
    return Graph((x,), (), (build.layer_norm(x, build.param("w", "f32", (columns,)), eps=1e-5),))


def pointwise(a: int, b: int, c: int) -> Graph:
    x, scale = build.input(0, "f32", (a, b, c), "x"), build.input(1, "f32", (b, 1), "scale")
    return Graph((x, scale), (), (build.relu(build.add(build.mul(x, scale), 0.5)),))


small = st.integers(1, 19)
graphs = st.one_of(
    st.builds(product, small, st.integers(1, 24), st.integers(1, 21)),
    st.builds(window, st.integers(1, 9), st.integers(1, 9), st.integers(3, 7), st.sampled_from([1, 2])),
    st.integers(1, 9).map(lambda channels: window(channels, channels, 6, 1, channels)),
    st.builds(batch, st.integers(1, 3), st.integers(1, 11), st.integers(1, 11), st.integers(1, 19)),
    st.builds(softmax, st.integers(1, 11), st.integers(1, 41)),
    st.builds(norm, st.integers(1, 5), st.integers(1, 41)),
    st.builds(pointwise, st.integers(1, 5), st.integers(1, 9), st.integers(1, 21)),
)


def main_nest(graph: Graph) -> Nest:
    lowered = Hoist()(fuse(lower(simplify(graph, Journal()), {}), Journal()))
    laid_out, _ = choose_layouts(lowered, TARGET.lanes("f32"), lambda nest: 0.0, "channels_last")
    nests = [step for step in laid_out.nests if isinstance(step, Nest) and "copy" not in step.note]
    return max(nests, key=lambda nest: len(nest.all_loops) * len(nest.reads))


def evaluate(nests: list[Nest], source: Nest) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    buffers = {b.name: rng.standard_normal(b.shape).astype(np.float32) for b in source.reads}
    # zeros around an image are written by another nest
    buffers |= {b.name: np.zeros(b.shape, np.float32) for b in source.writes}
    run(nests, buffers)
    return [buffers[b.name] for b in source.writes]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs, st.integers(0, 10**6))
def test_any_schedule_computes_what_the_nest_says(graph, seed):
    nest = main_nest(graph)
    drawn = draw(nest, TARGET, random.Random(seed))
    if drawn is None:
        return
    wanted, got = evaluate([nest], nest), evaluate([*drawn.copies, drawn.nest], nest)
    for a, b in zip(wanted, got):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=str(drawn))


@pytest.mark.parametrize("graph", [product(13, 40, 37), window(5, 19, 7, 2), softmax(5, 37), pointwise(3, 7, 37)])
def test_schedules_compute_the_same_natively(graph):
    from rank import Compiled, arena

    from strop.target import host

    nest, target = main_nest(graph), host.host()
    memory = arena(nest)
    Compiled(Schedule((), nest), memory, target)()
    wanted = {b: memory[b].copy() for b in nest.writes}
    for schedule in sample(nest, target, 8, seed=5):
        for buffer in nest.writes:
            memory[buffer][:] = 0
        Compiled(schedule, memory, target)()
        for buffer, values in wanted.items():
            np.testing.assert_allclose(memory[buffer], values, rtol=1e-4, atol=1e-5, err_msg=str(schedule))


def test_the_same_seed_draws_the_same_schedules():
    nest = main_nest(product(13, 40, 37))
    first, second = (sample(nest, TARGET, 12, seed=3) for _ in range(2))
    assert list(map(str, first)) == list(map(str, second))
    assert list(map(str, first)) != list(map(str, sample(nest, TARGET, 12, seed=4)))


def test_drawn_schedules_differ_can_be_emitted_and_stay_small():
    found = sample(main_nest(window(8, 24, 9)), TARGET, 60, seed=1)
    assert len(found) == len({one.nest for one in found}) == 60
    assert all(ready(one.nest) for one in found)
    assert all(copies(one.nest, TARGET) <= MOST_COPIES for one in found)


def test_the_space_is_not_pruned():
    """Vectors along every loop and along none, blocked reductions, packed and unpacked operands: all of it is drawn."""
    text = [str(one) for one in sample(main_nest(product(30, 64, 100)), TARGET, 80, seed=2)]
    for what in (
        "vectorise{nest=linear loop=n",
        "vectorise{nest=linear loop=m0",
        "block{",
        "pack{",
        "rfactor{",
        "unroll{",
    ):
        assert any(what in one for one in text), what
    assert any("vectorise" not in one for one in text)
    assert any("pack{" not in one and "loop=n.i" in one for one in text)


def test_passes_of_a_draw_read_back_from_their_text():
    nest = main_nest(product(13, 40, 37))
    for one in sample(nest, TARGET, 10, seed=9):
        again = nest
        for step in Pass.parse_all(str(one)) if one.passes else []:
            again = step(again)
        assert again == one.nest
