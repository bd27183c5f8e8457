"""Operands of contractions are read in the order of the tile, packed at every call where that pays."""

import pytest
import torch

import strop
from strop.core.journal import Journal
from strop.graph import build
from strop.graph.images import taking_channels_last
from strop.graph.ir import Graph, Node, Type
from strop.loops.passes.layouts import BorderCopy
from strop.loops.passes.loop_modes import Unroll
from strop.schedule.planners import planned
from strop.schedule.program import Program
from strop.target.description import TARGETS


class TransposedRight(torch.nn.Module):
    def forward(self, x, w):
        return x @ w.mT


class TransposedLeft(torch.nn.Module):
    def forward(self, dy, x):
        return dy.mT @ x


def session(model, *shapes, target="znver4"):
    torch.manual_seed(0)
    inputs = tuple(torch.randn(shape) for shape in shapes)
    return strop.Session(model, inputs, options=strop.Options(target=f"{target}@host", threads=1)), inputs


def run(session, *inputs):
    with torch.no_grad():
        return session.module(*inputs)


def packs(session):
    return [str(one) for one in session.history if str(one).startswith("pack{")]


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_a_transposed_operand_is_packed_for_vectors_where_enough_rows_share_it(target):
    made, inputs = session(TransposedRight(), (64, 96), (160, 96), target=target)
    assert len(packs(made)) == 1 and "buffer=w along=n" in packs(made)[0]
    torch.testing.assert_close(run(made, *inputs), inputs[0] @ inputs[1].mT, rtol=1e-4, atol=1e-4)


def test_few_rows_read_it_as_it_is():
    made, _ = session(TransposedRight(), (4, 96), (160, 96))
    assert not packs(made)


class Plain(torch.nn.Module):
    def forward(self, x, w):
        return x @ w


@pytest.mark.parametrize("target", ["znver3", "sapphirerapids"])
def test_an_operand_whose_steps_fall_on_few_sets_of_the_caches_is_packed(target):
    made, inputs = session(Plain(), (32, 600), (600, 2048), target=target)
    assert len(packs(made)) == 1 and "buffer=w along=n" in packs(made)[0]
    torch.testing.assert_close(run(made, *inputs), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        pytest.param(16, 2048, id="few rows share a copy"),
        pytest.param(32, 1040, id="steps are spread over all sets"),
        pytest.param(32, 496, id="the prefetcher follows the steps"),
    ],
)
def test_an_operand_that_vectors_can_read_is_read_as_it_is(rows, columns):
    made, _ = session(Plain(), (rows, 600), (600, columns), target="sapphirerapids")
    assert not packs(made)


def test_many_rows_are_worth_a_copy_where_only_l1_evicts_itself():
    few, _ = session(Plain(), (64, 128), (128, 1024), target="sapphirerapids")
    many, _ = session(Plain(), (128, 128), (128, 1024), target="sapphirerapids")
    assert (len(packs(few)), len(packs(many))) == (0, 1)


def test_every_matrix_of_a_batch_has_its_copy():
    made, inputs = session(TransposedRight(), (3, 32, 40), (3, 48, 40))
    assert len(packs(made)) == 1
    torch.testing.assert_close(run(made, *inputs), inputs[0] @ inputs[1].mT, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("depth", [1024, 1000])
def test_rows_that_a_long_sum_reads_across_are_transposed(depth):
    made, inputs = session(TransposedLeft(), (depth, 40), (depth, 200))
    assert len(packs(made)) == 1 and "along=k" in packs(made)[0]
    torch.testing.assert_close(run(made, *inputs), inputs[0].mT @ inputs[1], rtol=1e-4, atol=1e-3)


def test_a_short_sum_reads_them_as_they_are():
    made, _ = session(TransposedLeft(), (128, 40), (128, 200))
    assert not packs(made)


def test_an_operand_that_two_products_read_in_one_order_is_packed_once():
    class Twice(torch.nn.Module):
        def forward(self, x, y, w):
            return x @ w.mT, y @ w.mT

    made, (x, y, w) = session(Twice(), (64, 96), (80, 96), (160, 96))
    copies = [step.name for step in made.plan.steps if step.name.endswith(".pack")]
    assert len(copies) == 1
    for got, expected in zip(run(made, x, y, w), (x @ w.mT, y @ w.mT)):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def lanes(channels, size):
    """The vector loops of a 1×1 convolution that is called channels first."""
    layer = torch.nn.Conv2d(channels, channels, 1, bias=False)
    made, _ = session(layer, (1, channels, size, size), target="znver5")
    [call] = made.plan.steps
    return [one.loop for one in call.passes if str(one).startswith("vectorise")]


def test_lanes_lie_along_channels_where_pixels_would_leave_some_idle_and_results_are_transposed_in_registers():
    assert lanes(512, 14) == ["oc.i"]  # 196 pixels are 12¼ vectors


def test_lanes_lie_along_pixels_where_these_fill_their_vectors():
    assert lanes(512, 16) == ["oh.i"]


def test_lanes_lie_along_pixels_where_the_sum_is_too_short_to_pay_for_transposing():
    assert lanes(32, 14) == ["oh.i"]


def filter_gradient(x, out, kernel, stride=1, groups=1, target="znver4"):
    shape = [(size + 2 * (kernel // 2) - kernel) // stride + 1 for size in x[2:]]
    inputs = [build.input(0, "f32", x, "x"), build.input(1, "f32", (x[0], out, *shape), "dy")]
    edges = ((kernel // 2,) * 2,) * 2
    attrs = {"stride": (stride,) * 2, "padding": edges, "dilation": (1, 1), "groups": groups, "kernel": (kernel,) * 2}
    made = Type("f32", (out, x[1] // groups, kernel, kernel))
    graph = Graph(tuple(inputs), (), (Node("conv_weight_grad", tuple(inputs), attrs, (made,), "dw"),))
    graph = taking_channels_last(graph, (0, 1))
    steps = planned(Program.of(graph, TARGETS[target], 1, strop.Options(cache=False)), Journal())
    return list(steps.values())[-1]


def test_taps_are_no_rows_of_a_tile_where_channels_are():
    program = filter_gradient((2, 32, 8, 8), 64, kernel=4, stride=2)
    unrolled = [one.loop for one in program.history if isinstance(one, Unroll) and one.nest.endswith(".parts")]
    assert unrolled and not {"kh", "kw"} & {name.partition(".")[0] for name in unrolled}


def test_a_depthwise_gradient_reads_images_as_they_are():
    program = filter_gradient((2, 32, 16, 16), 32, kernel=3, groups=32)
    assert not any(isinstance(one, BorderCopy) and one.tensor == "x" for one in program.history)
