"""Tensors that are turned on their way: rows of squares are read or written whole, whatever is left over."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from codegen.test_emit import same
from strop.codegen.builder import CodeBlock, Names
from strop.codegen.emit import emit
from strop.codegen.transpose import columns
from strop.core.options import Options
from strop.loops.ir import Buffer
from strop.loops.layout import Layout, relayout
from strop.loops.passes.layouts import border_copy
from strop.schedule.default import schedule
from strop.target.description import Target

SIZES = (1, 3, 4, 7, 16, 17, 33)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_matrix_of_any_size_is_turned(rows, width, dtype):
    given = torch.arange(2 * rows * width).reshape(2, rows, width).to(dtype)
    same(lambda x: x.permute(0, 2, 1).contiguous(), given)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool])
def test_elements_of_other_sizes_are_turned_as_well(dtype):
    same(lambda x: x.permute(0, 2, 1).contiguous(), torch.randint(0, 2, (2, 19, 21)).to(dtype))


def test_what_is_computed_on_the_way_is_too():
    same(lambda x, y: x.permute(0, 2, 1) + y, torch.randn(1, 18, 35), torch.randn(1, 35, 18))


@pytest.mark.parametrize("width", [33, 40, 49, 70])
@pytest.mark.parametrize("depth", [5, 16, 23])
def test_rows_past_the_end_of_a_matrix_are_left_out(width, depth):
    """Packing a weight whose rows are no whole panels: squares are turned whose last rows are not there."""
    model, x = nn.Linear(depth, width, bias=False), torch.randn(64, depth).round()
    with torch.no_grad():
        model.weight.copy_(torch.arange(width * depth).reshape(width, depth) % 101)
        torch.testing.assert_close(strop.compile(model, (x,), cache=False)(x), model(x), rtol=0, atol=0)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_rows_become_columns(lanes, dtype, monkeypatch):
    def shuffle(code, a, b, dtype, lanes, picks):
        return [(*a, *b)[pick] for pick in picks]

    monkeypatch.setattr("strop.codegen.transpose._shuffle", shuffle)
    square = [[(row, column) for column in range(lanes)] for row in range(lanes)]
    assert columns(CodeBlock(Names()), square, dtype) == [list(column) for column in zip(*square)]


@pytest.mark.parametrize("target", ["znver3", "znver4", "neoverse-v1"])
def test_no_element_goes_alone(target):
    outside = Buffer("x", "f32", (1, 48, 24, 32), "input")
    inside = Buffer("y", "f32", (1, 48, 24, 32), "arena")
    last = Layout.of(("reorder", (0, 2, 3, 1)))
    physical = Buffer("y", "f32", (1, 24, 32, 48), "arena")
    for copy in (border_copy(outside, inside), border_copy(inside, Buffer("z", "f32", outside.shape, "output"))):
        nest = schedule(relayout(copy, {inside: (physical, last)}), Target.find(target), 1).nest
        text = emit(nest, "copy", Target.find(target)).text
        assert "shufflevector" in text
        assert "insertelement" not in text and "extractelement" not in text


def as_channels_last(channels, target):
    """The copy of an image whose channels come to lie side by side."""
    outside, inside = (Buffer(n, "f32", (1, channels, 24, 36), s) for n, s in (("x", "input"), ("y", "arena")))
    last = Layout.of(("reorder", (0, 2, 3, 1)))
    physical = Buffer("y", "f32", (1, 24, 36, channels), "arena")
    copy = relayout(border_copy(outside, inside), {inside: (physical, last)})
    return emit(schedule(copy, Target.find(target), 1).nest, "copy", Target.find(target)).text


@pytest.mark.parametrize(("target", "masked"), [("znver3", False), ("znver4", True), ("neoverse-v1", False)])
def test_parts_of_vectors_are_masked_only_where_there_are_registers_for_masks(target, masked):
    text = as_channels_last(6, target)
    assert ("llvm.masked.store" in text) == masked
    assert ("store <2 x float>" in text) == (not masked)


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_few_channels_are_written_in_whole_vectors(channels):
    text = as_channels_last(channels, "znver3")
    assert text.count("store <8 x float>") == channels
    assert "shufflevector" in text


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.Conv2d(5, 19, 3, 2, 1), (2, 5, 13, 15)),
        (nn.Conv2d(3, 16, 3, 2, 1), (1, 3, 21, 37)),
        (nn.Conv2d(2, 16, 5, 1, 2), (1, 2, 9, 8)),
        (nn.Conv2d(32, 32, 3, 1, 1, groups=32), (1, 32, 9, 23)),
        (nn.Conv2d(24, 48, 3, 1, 1, groups=3), (1, 24, 8, 11)),
        (nn.Conv1d(1, 33, 9, 4), (1, 1, 101)),
        (nn.Conv3d(3, 17, 3, 2, 1), (1, 3, 5, 9, 11)),
        (nn.ConvTranspose2d(12, 20, 2, 2), (1, 12, 6, 9)),
        (nn.ConvTranspose2d(9, 8, (3, 4), (1, 2), 1, groups=1), (2, 9, 5, 7)),
        (nn.ConvTranspose1d(8, 24, 6, 3, 2, 1), (1, 8, 14)),
        (nn.ConvTranspose2d(16, 32, 3, 2, 1, 1, groups=2), (1, 16, 7, 10)),
    ],
    ids=str,
)
def test_results_are_written_as_the_caller_wants_them(module, shape):
    module.eval()
    x = torch.randn(shape)
    with torch.no_grad():
        fast = strop.compile(module, (x,), options=Options(cache=False, check=True))
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
