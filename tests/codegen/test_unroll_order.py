"""Products of a window over several rows and columns are written out by the place of what they read."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from strop.codegen.registers import register_scratch
from strop.codegen.unroll_order import by_place, by_statement
from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.pipeline import assembly, run_stages
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.session import Session
from strop.target.description import TARGETS, Target


def depthwise(size, stride=1, kernel=3, channels=24, target="znver3", **options):
    """A depthwise convolution between two others, planned for a core with 16 registers, and its input."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(8, channels, 1), nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels), nn.ReLU6(),
        nn.Conv2d(channels, 8, 1),
    ).eval()  # fmt: skip
    x = torch.randn(2, 8, *size) if isinstance(size, tuple) else torch.randn(1, 8, size, size)
    return Session(model, (x,), options=Options(cache=False, target=target, **options), threads=1), model, x


def innermost(nest: Nest) -> list[Nest]:
    inside = [found for item in nest.body if isinstance(item, Nest) for found in innermost(item)]
    return [nest, *inside]


@pytest.mark.parametrize("layouts", ["joint", "channels_last", "blocked"])
@pytest.mark.parametrize(
    ("size", "stride"), [(14, 1), (12, 2), ((10, 9), 1), ((9, 10), 1), ((4, 31), 2), (2, 1), (7, 1)]
)
def test_two_rows_of_a_window_at_a_time_compute_the_same(size, stride, layouts):
    session, model, x = depthwise(size, stride, layouts=layouts)
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-5, atol=1e-6)


def test_rows_come_in_pairs_where_there_is_an_even_number_of_them():
    pairs = "(unroll) ow.i in 4, oh.i in 2"
    assert pairs in str(depthwise(12)[0].nests["1.conv"])
    assert "oh.i" not in str(depthwise(11)[0].nests["1.conv"])
    assert "oh.i" not in str(depthwise(12, kernel=5)[0].nests["1.conv"])  # too many weights for the registers


def test_what_is_read_first_is_used_up_before_the_next_is_read():
    nest = depthwise(12, strips=False)[0].nests["1.conv"]
    found = [by_place(one, register_scratch(nest), TARGETS["znver3"].lanes("f32")) for one in innermost(nest)]
    store, vector, order = next(one for one in found if one is not None)
    row, column, kh, kw = ({var.name: var for var in order[0]}[name] for name in ("oh.i", "ow.i", "kh", "kw"))
    read = [(at[row] + at[kh], at[column] + at[kw]) for at in order]
    assert read == sorted(read) and len(read) == 2 * 4 * 9 and len(set(read)) == 4 * 6
    for sums in {(at[row], at[column]) for at in order}:
        steps = [(at[kh], at[kw]) for at in order if (at[row], at[column]) == sums]
        assert steps == sorted(steps)
    assert store.reduce == "sum" and vector.name.startswith("oc")


def products_of_pairs() -> Nest:
    """As scheduled for a core of wide pipes, which this machine need not be."""
    layer, x = nn.Linear(512, 512, bias=False).eval(), torch.randn(64, 512)
    graph = Session(layer, (x,), options=Options(cache=False), threads=1).graph
    options = Options(cache=False, numerics="exact", pairs=True)
    stages = run_stages(graph, Target.find("znver5"), options, Journal(), 1)
    return next(step.nest for step in stages.plan.steps if isinstance(step, Call))


def test_statements_that_multiply_sums_are_written_out_one_after_the_other():
    nest = products_of_pairs()
    found = [by_statement(one, register_scratch(nest)) for one in innermost(nest)]
    parts = next(one for one in found if one)
    assert [len(part.body) for part in parts] == [1, 1, 1, 1]
    tile = next(one for one in innermost(nest) if one.body == tuple(part.body[0] for part in parts))
    assert all(part.loops == tile.loops for part in parts)
    assert not any(by_statement(one, ()) for one in innermost(nest))  # sums in memory would be walked four times


def test_wide_pipes_load_an_element_once_for_several_vectors():
    text = assembly(products_of_pairs(), Target.find("znver5"))
    assert text.count("{1to16}") < text.count("vbroadcastss") / 4
