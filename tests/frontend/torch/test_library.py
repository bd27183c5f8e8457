"""Library nodes: several results, random order, reasons."""

from __future__ import annotations

import pytest
import torch

from frontend.torch.compare import check_function, ops
from graph.tracing import Function
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.torch import library_nodes
from strop.frontend.torch.normalize import convert
from strop.runtime.reference import evaluate
from strop.session import Session


def test_several_results_become_items() -> None:
    converted = check_function(lambda x: x.sort(1), torch.randn(3, 50), native=False)
    assert ops(converted.graph) == ["aten", "item", "item"]


def test_unused_results_are_dropped() -> None:
    converted = check_function(lambda x: x.topk(2)[1], torch.randn(3, 5), native=False)
    assert ops(converted.graph) == ["aten", "item"]


def test_an_operator_that_does_not_come_apart_natively_stays_whole() -> None:
    converted = check_function(torch.special.erfcx, torch.randn(4), native=False)
    assert [n.attrs["target"] for n in converted.graph.nodes if n.op == "aten"] == ["aten.special_erfcx.default"]


def test_each_fallback_says_why() -> None:
    converted = check_function(lambda x: x.lgamma(), torch.rand(4) + 1, native=False)
    assert list(converted.fallbacks.values()) == [
        "aten.lgamma.default: neither it nor its parts are in the operator set"
    ]


def test_random_numbers_are_drawn_in_program_order() -> None:
    """The second draw is the first output: an evaluation by need alone would draw it first."""

    def draws(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = torch.randn_like(x)
        second = torch.rand_like(x)
        return second, first

    x = torch.empty(5)
    converted = convert(draws, x)
    torch.manual_seed(3)
    wanted = draws(x)
    torch.manual_seed(3)
    got, _ = evaluate(converted.graph, [x])
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_two_draws_are_not_one() -> None:
    graph = convert(lambda x: torch.rand_like(x) - torch.rand_like(x), torch.empty(5)).graph
    drawn = [n for n in graph.nodes if n.op == "aten"]
    assert len(drawn) == 2 and drawn[0] in drawn[1].inputs


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_draws_its_mask_in_the_library_and_applies_it_natively(p: float) -> None:
    def drop(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.ops.aten.native_dropout(x, p, True)

    x = torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last)
    x[0, 0, 0] = torch.tensor([float("nan"), float("inf"), 0.0, -0.0, 1.0, -float("inf")])
    converted = convert(drop, x)
    assert [n.attrs["target"] for n in converted.graph.nodes if n.op == "aten"] == ["aten.bernoulli.p"]
    assert {output.name for output in converted.graph.outputs} <= converted.drawn
    torch.manual_seed(3)
    wanted = (*drop(x), torch.rand(2))
    torch.manual_seed(3)
    got, _ = evaluate(converted.graph, [x])
    for mine, theirs in zip((*got, torch.rand(2)), wanted):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0, equal_nan=True)


def test_dropout_that_drops_nothing_draws_nothing() -> None:
    converted = convert(lambda x: torch.ops.aten.native_dropout(x.sin(), 0.5, False)[0], torch.randn(7))
    assert not converted.drawn and ops(converted.graph) == ["sin"]


def test_a_mask_of_dropout_that_nobody_reads_is_drawn_all_the_same() -> None:
    def drop(x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten.native_dropout(x, 0.5, True)
        return torch.rand_like(x)

    x = torch.randn(7)
    converted = convert(drop, x)
    torch.manual_seed(3)
    wanted = drop(x)
    torch.manual_seed(3)
    (got,), _ = evaluate(converted.graph, [x])
    assert torch.equal(got, wanted)


def test_results_never_share_the_inputs_memory() -> None:
    converted = convert(lambda x: x.half().float().half().view(2, 2), torch.randn(4))
    node = next(n for n in converted.graph.nodes if n.op == "aten" and "view" in n.attrs["target"])
    x = torch.randn(4).half()
    (result,) = library_nodes.call(node, [x])
    assert result.data_ptr() != x.data_ptr()


def test_templates_hold_plain_values_only() -> None:
    for node in convert(
        lambda x: x.to(torch.float16, memory_format=torch.channels_last), torch.randn(1, 2, 3, 4)
    ).graph.nodes:
        if node.op == "aten":
            assert eval(repr(node.attrs)) == node.attrs


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int16])
def test_places_in_the_storage_of_a_transposed_tensor_are_eagers(dtype):
    def diagonal(x):
        return torch.as_strided(x.t(), (3, 4), (1, 5), 2) + 1

    x = torch.arange(40).reshape(5, 8).to(dtype)
    session = Session(Function(diagonal, {}).eval(), (x,), options=Options(cache=False))
    assert torch.equal(session.module(x), diagonal(x))


def test_places_in_a_storage_that_holds_more_than_the_tensor_are_refused():
    function = Function(lambda x: torch.as_strided(x[1:], (3, 4), (1, 5)), {})
    with pytest.raises(Problem, match="STR107"):
        Session(function.eval(), (torch.arange(40, dtype=torch.int16).reshape(5, 8),), options=Options(cache=False))
