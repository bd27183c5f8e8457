"""Attention in the spellings that people and tracers write."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from graph.evaluating import refusals
from graph.tracing import ops, traced
from strop.core.journal import Journal
from strop.graph.ir import Graph, Node

Tensor = torch.Tensor
torch.manual_seed(0)
B, H, L, S, E = 2, 3, 5, 7, 8
Q, K, V = torch.randn(B, H, L, E), torch.randn(B, H, S, E), torch.randn(B, H, S, 6)
SCALE = 1 / math.sqrt(E)


def the_attention(graph: Graph) -> Node:
    (node,) = [n for n in graph.nodes if n.op == "attention"]
    assert not {"softmax", "matmul"} & set(ops(graph))
    return node


def after(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(E), -1) @ v


def on_q(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax((q * SCALE) @ k.transpose(-2, -1), -1) @ v


def on_both(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    root = math.sqrt(SCALE)
    return torch.matmul(torch.softmax((q * root) @ (k * root).transpose(2, 3), dim=3), v)


def einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhld,bhsd->bhls", q, k) * SCALE
    return torch.einsum("bhls,bhsd->bhld", scores.softmax(-1), v)


def batched(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (t.reshape(B * H, *t.shape[2:]) for t in (q, k, v))
    scores = torch.bmm(q, k.transpose(1, 2)) * SCALE
    return torch.bmm(torch.softmax(scores, -1), v).view(B, H, L, -1)


def with_dropout(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.softmax(q @ k.transpose(-2, -1) * SCALE, -1)
    return torch.nn.functional.dropout(weights, 0.1, training=False) @ v


@pytest.mark.parametrize("export", [False, True])
@pytest.mark.parametrize("form", [after, on_q, on_both, einsum, batched, with_dropout])
def test_recognised(form: Callable[[Tensor, Tensor, Tensor], Tensor], export: bool) -> None:
    node = the_attention(traced(form, Q, K, V, export=export))
    assert node.attrs["scale"] == pytest.approx(SCALE)
    assert not node.attrs["causal"] and len(node.inputs) == 3


def test_without_a_scale() -> None:
    node = the_attention(traced(lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v, Q, K, V))
    assert node.attrs["scale"] == 1.0


def test_a_scale_on_q_before_its_heads_are_split() -> None:
    def form(x: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q = (x * SCALE).view(B, L, H, E).transpose(1, 2)
        return (q @ k.mT).softmax(-1) @ v

    node = the_attention(traced(form, torch.randn(B, L, H * E), K, V))
    assert node.attrs["scale"] == pytest.approx(SCALE)


MASK = torch.where(torch.rand(B, 1, L, S) > 0.3, 0.0, -1e30)
KEEP = torch.rand(B, 1, L, S) > 0.3
KEEP[..., 0] = True


@pytest.mark.parametrize("export", [False, True])
@pytest.mark.parametrize(
    "form, mask",
    [
        (lambda s, m: s * SCALE + m, MASK),
        (lambda s, m: (s + m) * SCALE, MASK),
        (lambda s, m: m + s / math.sqrt(E), MASK),
        (lambda s, m: (s * SCALE).masked_fill(~m, -math.inf), KEEP),
        (lambda s, m: (s * SCALE).masked_fill(m == 0, -1e9), KEEP.long()),
        (lambda s, m: torch.where(m, s * SCALE, torch.finfo(torch.float32).min), KEEP),
        (lambda s, m: s * SCALE + (1.0 - m) * -1e10, KEEP.float()),
        (lambda s, m: (s * SCALE + 0.25 * s.new_ones(L, S)).masked_fill(~m, -math.inf), KEEP),
    ],
)
def test_masks(form: Callable[[Tensor, Tensor], Tensor], mask: Tensor, export: bool) -> None:
    graph = traced(lambda q, k, v, m: form(q @ k.mT, m).softmax(-1) @ v, Q, K, V, mask, export=export)
    node = the_attention(graph)
    assert node.attrs["scale"] == pytest.approx(SCALE)
    assert len(node.inputs) == 4


@pytest.mark.parametrize("form", [lambda s, m: s.masked_fill(~m, -math.inf), lambda s, m: s + torch.log(m.float())])
def test_a_row_without_anything_to_see_is_nan_as_in_eager(form: Callable[[Tensor, Tensor], Tensor]) -> None:
    keep = KEEP.clone()
    keep[0, 0, 2] = False
    graph = traced(lambda q, k, v, m: form(q @ k.mT, m).softmax(-1) @ v, Q, K, V, keep)
    assert the_attention(graph)
    assert graph.outputs[0].op == "where"


@pytest.mark.parametrize(
    "mask",
    [
        lambda n: torch.tril(torch.ones(n, n)).bool(),
        lambda n: torch.ones(n, n, dtype=torch.bool).tril().view(1, 1, n, n),
        lambda n: torch.arange(n)[:, None] >= torch.arange(n)[None, :],
        lambda n: ~torch.triu(torch.ones(n, n), diagonal=1).bool(),
    ],
)
@pytest.mark.parametrize("fill", [-math.inf, -1e9])
def test_a_triangular_mask_is_causal(mask: Callable[[int], Tensor], fill: float) -> None:
    def form(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.mT) * SCALE
        return scores.masked_fill(~mask(70), fill).softmax(-1) @ v

    q, k, v = (torch.randn(2, 2, 70, 4) for _ in range(3))
    node = the_attention(traced(form, q, k, v))
    assert node.attrs["causal"] and len(node.inputs) == 3


def test_an_added_triangle_is_causal() -> None:
    def form(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = torch.full((70, 70), -math.inf).triu(1)
        return ((q @ k.mT) * SCALE + mask).softmax(-1) @ v

    q, k, v = (torch.randn(2, 2, 70, 4) for _ in range(3))
    assert the_attention(traced(form, q, k, v)).attrs["causal"]


def test_a_triangle_beside_the_diagonal_is_not_causal() -> None:
    def form(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keep = torch.arange(70)[:, None] >= torch.arange(70)[None, :] - 1
        return (q @ k.mT).masked_fill(~keep, -math.inf).softmax(-1) @ v

    q, k, v = (torch.randn(2, 2, 70, 4) for _ in range(3))
    node = the_attention(traced(form, q, k, v))
    assert not node.attrs["causal"] and len(node.inputs) == 4


@pytest.mark.parametrize("heads", [1, 3])
def test_repeated_heads_are_shared(heads: int) -> None:
    def repeat(x: Tensor) -> Tensor:
        b, h, s, e = x.shape
        return x[:, :, None].expand(b, h, 2, s, e).reshape(b, 2 * h, s, e)

    q, k, v = torch.randn(1, 2 * heads, L, E), torch.randn(1, heads, S, E), torch.randn(1, heads, S, E)
    node = the_attention(traced(lambda q, k, v: after(q, repeat(k), repeat(v)), q, k, v))
    assert node.attrs["gqa"]
    assert [n.shape[1] for n in node.inputs] == [2 * heads, heads, heads]


def test_heads_repeated_in_another_order_are_not_shared() -> None:
    q, k, v = torch.randn(1, 6, L, E), torch.randn(1, 3, S, E), torch.randn(1, 3, S, E)
    node = the_attention(traced(lambda q, k, v: after(q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)), q, k, v))
    assert not node.attrs["gqa"]


def test_a_batch_that_broadcasts() -> None:
    node = the_attention(traced(after, Q, K[:1], V))
    assert node.inputs[1].shape == K.shape


def _refuses(form: Callable[..., object], why: str, *more: Tensor) -> None:
    journal = Journal()
    graph = traced(form, Q, K, V, *more, journal=journal)
    assert "attention" not in ops(graph)
    assert why in refusals(journal)


def test_returned_weights_keep_it_apart() -> None:
    def form(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = torch.softmax(q @ k.mT * SCALE, -1)
        return weights @ v, weights

    _refuses(form, "(`softmax`) is returned")


def test_scores_used_elsewhere_keep_it_apart() -> None:
    def form(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT
        return torch.softmax(scores, -1) @ v + scores.amax(-1, keepdim=True)

    _refuses(form, "(`matmul`) is used elsewhere")


def test_a_softmax_over_another_dimension_is_no_attention() -> None:
    _refuses(lambda q, k, v: torch.softmax(q @ k.mT, 1) @ v, "softmax over dimension 1, not the last")


def test_a_fill_that_does_not_mask_is_no_mask() -> None:
    _refuses(lambda q, k, v, m: (q @ k.mT).masked_fill(~m, -100.0).softmax(-1) @ v, "masked scores become -100", KEEP)


def test_a_function_of_the_scores_is_no_attention() -> None:
    journal = Journal()
    graph = traced(lambda q, k, v: torch.softmax(torch.tanh(q @ k.mT), -1) @ v, Q, K, V, journal=journal)
    assert "attention" not in ops(graph)


def test_a_whole_layer_is_two_linears_and_an_attention() -> None:
    def layer(x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor) -> Tensor:
        def heads(w: Tensor) -> Tensor:
            return (x @ w.t()).view(2, 5, 4, 6).transpose(1, 2)

        q, k, v = heads(wq), heads(wk), heads(wv)
        context = torch.softmax(q @ k.mT / math.sqrt(6), -1) @ v
        return context.transpose(1, 2).reshape(2, 5, 24) @ wo.t()

    weights = {name: torch.randn(24, 24) / 5 for name in ("wq", "wk", "wv", "wo")}  # scores of about 1
    graph = traced(layer, torch.randn(2, 5, 24), **weights)
    kinds = [op for op in ops(graph) if op not in ("reshape", "permute", "slice")]
    assert kinds == ["cat", "linear", "attention", "linear"]
