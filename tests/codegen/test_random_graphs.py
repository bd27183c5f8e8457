"""Random programs, natively, against the executable meaning of the operators."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import strop
from codegen.random_graphs import random_graph, values
from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph.ir import Graph
from strop.runtime import reference
from strop.runtime.program import build
from strop.schedule import default

SEEDS, STEPS = st.integers(0, 2**32 - 1), st.integers(1, 12)


def close(got: torch.Tensor, wanted: torch.Tensor, graph: Graph) -> None:
    finite = wanted[wanted.isfinite()].double()
    scale = max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
    single = any(node.dtype == "f32" for node in graph.nodes)
    part = 0.0 if not wanted.is_floating_point() else 2e-5 if single else 1e-11
    torch.testing.assert_close(
        got,
        wanted,
        rtol=part,
        atol=part * scale,
        equal_nan=True,
        check_stride=False,
        msg=lambda text: f"{text}\n{graph}",
    )


def compare(graph: Graph, threads: int, pack: bool = True) -> None:
    generator = torch.Generator().manual_seed(1)
    inputs = [values(node, generator) for node in graph.inputs]
    params = [values(node, generator) for node in graph.params]
    wanted, _ = reference.evaluate(graph, inputs, params)
    try:
        program = build(graph, Options(cache=False, check=True, pack=pack), Journal(), threads)
        program.bind(params)
        got = program(inputs)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{graph}") from error
    assert len(got) == len(wanted)
    for result, expected in zip(got, wanted):
        close(result, expected, graph)


@settings(max_examples=80)
@given(SEEDS, STEPS)
def test_one_thread(seed, steps):
    compare(random_graph(seed, steps), threads=1)


@settings(max_examples=40)
@given(SEEDS, STEPS)
def test_two_threads_however_little_work(seed, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "PARALLEL_EFFORT", 0)
        compare(random_graph(seed, steps), threads=2)


@settings(max_examples=15)
@given(SEEDS, STEPS)
def test_without_packing(seed, steps):
    compare(random_graph(seed, steps), threads=1, pack=False)


class Mixed(torch.nn.Module):
    """A little of everything that looks at where elements are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(40.0).reshape(8, 5).t()[:, ::2] * 0.05)

    def forward(self, x, y):
        mixed = torch.where(x > y, x, y * 2) - x.mean(-1, keepdim=True)
        scores = torch.softmax(mixed @ mixed.transpose(-1, -2), -1)
        return scores.sum(0), torch.nn.functional.linear(x, self.weight.t()[:, : x.shape[-1]]), x.flatten()[1::2], y


def _strided(base: torch.Tensor, how: int) -> torch.Tensor:
    """The same shape with other strides."""
    if how == 1:
        return base.transpose(0, -1).contiguous().transpose(0, -1)
    if how == 2:
        return torch.stack((base, base + 1), -1)[..., 0]
    if how == 3:
        return base[..., :1].expand(base.shape)
    return base.flip(-1)[..., ::1] if how == 4 else base


@pytest.mark.parametrize("how", range(5))
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1, 4), (7, 4)])
def test_inputs_of_any_stride(how, shape):
    generator = torch.Generator().manual_seed(how)
    x = _strided(torch.randn(shape, generator=generator), how)
    y = _strided(torch.randn(shape, generator=generator), (how + 2) % 5)
    module = Mixed()
    with torch.no_grad():
        got, wanted = strop.compile(module, (x, y))(x, y), module(x, y)
    for result, expected in zip(got, wanted):
        torch.testing.assert_close(result, expected, check_stride=False)


@pytest.mark.slow
@settings(max_examples=1500, derandomize=False)
@given(SEEDS, STEPS)
def test_many_more(seed, steps):
    compare(random_graph(seed, steps), threads=1)
