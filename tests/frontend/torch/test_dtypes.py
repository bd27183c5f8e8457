"""Promotion is explicit in the graph, and what generated code can't compute with goes through library nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from frontend.torch.compare import check_function, ops
from strop.frontend.torch.normalize import trace
from strop.graph.operators import BINARY, COMPARE
from strop.graph.verify import verify
from strop.runtime.reference import evaluate


@pytest.mark.parametrize("left", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool])
@pytest.mark.parametrize("right", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool])
def test_operands_of_two_dtypes_are_cast_before_they_meet(left: torch.dtype, right: torch.dtype) -> None:
    a, b = torch.tensor([3, 0, 1]).to(left), torch.tensor([[1], [2]]).to(right)
    converted = check_function(lambda a, b: (a + b, a * b, a / b, a < b, torch.where(a > 0, a, b)), a, b)
    for node in converted.graph.nodes:
        if node.op in (*BINARY, *COMPARE):
            assert len({i.dtype for i in node.inputs}) == 1


def test_scalars_take_the_tensors_dtype() -> None:
    graph = trace(lambda x: x * 2 + 0.5, torch.randn(3))
    assert [str(n.type) for n in graph.nodes if n.op == "full"] == ["f32[]", "f32[]"]


def test_zero_dimensional_tensors_do_not_widen() -> None:
    check_function(lambda x, s: (x + s, x > s), torch.randn(3), torch.tensor(2.0, dtype=torch.float64))


def test_integers_divide_as_floats() -> None:
    assert ops(trace(lambda a, b: a / b, torch.arange(3), torch.arange(1, 4))) == ["cast", "cast", "div"]


def test_sum_of_booleans_counts() -> None:
    assert ops(trace(lambda m: m.sum(), torch.rand(3) > 0.5)) == ["cast", "sum"]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_bytes_are_moved_as_they_are_and_computed_as_int32(dtype: torch.dtype) -> None:
    x = torch.randint(0, 99, (3, 4)).to(dtype)
    converted = check_function(lambda x: (x.t()[1:] * 3 + 1, x.float().exp(), x > 4, x.amax(0), torch.cat([x, x])), x)
    for node in converted.graph.nodes:
        if node.op in (*BINARY, *COMPARE, "amax"):
            assert {i.dtype for i in node.inputs} == {"i32"}


def test_what_bytes_have_no_native_code_for_runs_through_the_library() -> None:
    converted = check_function(
        lambda x: x.cumprod(0, dtype=torch.uint8), torch.ones(3, dtype=torch.uint8), native=False
    )
    assert converted.fallbacks


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int16])
def test_foreign_dtypes_run_through_the_library(dtype: torch.dtype) -> None:
    x = torch.randint(0, 9, (3, 4)).to(dtype)
    converted = check_function(lambda x: (x.t()[1:] + 1, x.float().exp(), x.clone()), x, native=False)
    assert {n.op for n in converted.graph.nodes} <= {"input", "aten", "exp"}
    assert all("has no native code" in why for why in converted.fallbacks.values())


def test_complex_numbers_run_through_the_library() -> None:
    check_function(lambda x: torch.fft.irfft(torch.fft.rfft(x).conj() * 2), torch.randn(8), native=False)


@pytest.mark.parametrize("make", [torch.abs, lambda x: torch.view_as_real(x * 1j), lambda x: (x @ x).abs().sum()])
def test_real_results_of_complex_numbers(make: Callable[..., Any]) -> None:
    assert check_function(make, torch.randn(3, 3, dtype=torch.complex64), native=False).fallbacks


def test_what_changes_nothing_is_no_call_in_any_dtype() -> None:
    assert not ops(trace(lambda x: x.contiguous().to(torch.complex64), torch.randn(3, dtype=torch.complex64)))


@pytest.mark.parametrize("other", [torch.float64, torch.int64])
@pytest.mark.parametrize(
    "make",
    [
        lambda x, w: F.linear(x, w),
        lambda x, w: F.linear(x, w.float(), w[0]),
        lambda x, w: F.conv1d(x[None], w[..., None]),
        lambda x, w: F.layer_norm(x, (4,), w[0]),
        lambda x, w: x.index_put((torch.tensor([0]),), w[0]),
    ],
    ids=["linear", "bias", "conv", "norm", "index_put"],
)
def test_kernels_answer_for_mixtures_that_they_refuse(make: Callable[..., Any], other: torch.dtype) -> None:
    """What torch's own kernel would refuse is not promoted in silence, nor does it become code that is not valid."""
    x, w = torch.randn(4, 4), torch.randint(1, 5, (4, 4)).to(other)
    with pytest.raises(RuntimeError) as eager:
        make(x, w)
    try:
        graph = trace(make, x, w)
    except RuntimeError as refused:
        assert "type" in str(refused)
        return
    verify(graph)
    with pytest.raises(RuntimeError) as ours:
        evaluate(graph, (x, w))
    assert str(ours.value) == str(eager.value)


@pytest.mark.parametrize(
    "make", [lambda x: x.clamp(max=float("inf")), lambda x: x.clamp(-1e30, 3), lambda x: x.clamp(1.5, 4.5)]
)
def test_bounds_that_integers_cannot_hold(make: Callable[..., Any]) -> None:
    check_function(make, torch.arange(-3, 9))
