"""Random programs, natively, against the executable meaning of the operators."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from native.random_graphs import graphs, values

import strop
from strop.core.config import Options
from strop.core.journal import Journal
from strop.graph.ir import Graph
from strop.plan import schedule
from strop.run import reference
from strop.run.program import build


def close(got: torch.Tensor, wanted: torch.Tensor, graph: object) -> None:
    finite = wanted[wanted.isfinite()] if wanted.is_floating_point() else wanted[:0]
    scale = max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
    part = {torch.float32: 2e-5, torch.float64: 1e-11}.get(wanted.dtype, 0.0)
    torch.testing.assert_close(
        got, wanted, rtol=part, atol=part * scale, equal_nan=True, check_stride=False, msg=lambda text: f"{text}\n{graph}"
    )


def compare(graph: Graph, threads: int, pack: bool = True) -> None:
    generator = torch.Generator().manual_seed(1)
    inputs = [values(node, generator) for node in graph.inputs]
    params = [values(node, generator) for node in graph.params]
    wanted, _ = reference.evaluate(graph, inputs, params)
    try:
        program = build(graph, Options(cache=False, pack=pack), Journal(), threads)
        program.bind(params)
        got = program(inputs)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{graph}") from error
    assert len(got) == len(wanted)
    for result, expected in zip(got, wanted):
        close(result, expected, graph)


@settings(max_examples=80)
@given(graphs())
def test_one_thread(graph):
    compare(graph, threads=1)


@settings(max_examples=40)
@given(graphs())
def test_two_threads_however_little_work(graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "PARALLEL_WORK", 0)
        compare(graph, threads=2)


@settings(max_examples=15)
@given(graphs())
def test_without_packing(graph):
    compare(graph, threads=1, pack=False)


@pytest.mark.slow
@settings(max_examples=1500, derandomize=False)
@given(graphs())
def test_many_more(graph):
    compare(graph, threads=1)
