"""The cross-entropy of a linear layer's rows without all of their logits: `rows` rows of them exist at a time.

    linear_cross_entropy(x[R,K], weight[N,K], bias[N], labels[R], ignore_index, mean, rows, gradients)
        → loss, the number of rows that count, logsumexp[R], the gradients of the loss that are asked for
    linear_cross_entropy_backward(x, weight, bias, labels, logsumexp[R], scale[], ignore_index, rows, gradients)
        → the gradients of scale · the sum of losses

`gradients` names some of x, weight and bias ("x weight"). With them, the first operator computes in forward what the
second one computes in backward, for which the logits are computed once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import RULES
from strop.graph.ir import Node


@torch.library.custom_op("strop::linear_cross_entropy", mutates_args=())
def linear_cross_entropy(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, ignore_index: int, mean: bool, rows: int,
    gradients: str,
) -> list[Tensor]:  # fmt: skip
    total = (labels != ignore_index).sum().to(x.dtype)
    scale = total.reciprocal() if mean else torch.ones_like(total)
    sums = _Gradients(x, weight, gradients.split())
    loss, logsumexp = torch.zeros_like(total), []
    for part, wanted in zip(torch.split(x, rows), torch.split(labels, rows)):
        logits = F.linear(part, weight, bias)
        loss += F.cross_entropy(logits, wanted, ignore_index=ignore_index, reduction="sum")
        logsumexp.append(logits.logsumexp(1))
        if gradients:
            sums.add(part, _of_logits(logits.softmax(1), wanted, scale, ignore_index))
    return [loss / total if mean else loss, total, torch.cat(logsumexp), *sums.named()]


@torch.library.custom_op("strop::linear_cross_entropy_backward", mutates_args=())
def linear_cross_entropy_backward(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, logsumexp: Tensor, scale: Tensor,
    ignore_index: int, rows: int, gradients: str,
) -> list[Tensor]:  # fmt: skip
    sums = _Gradients(x, weight, gradients.split())
    for part, wanted, logarithm in zip(*(torch.split(one, rows) for one in (x, labels, logsumexp))):
        powers = (F.linear(part, weight, bias) - logarithm[:, None]).exp()
        sums.add(part, _of_logits(powers, wanted, scale, ignore_index))
    return list(sums.named())


def _of_logits(probabilities: Tensor, labels: Tensor, scale: Tensor, ignore_index: int) -> Tensor:
    """The gradient of logits whose rows' losses are summed up and scaled."""
    counts = (labels != ignore_index)[:, None]
    share = torch.where(counts, scale, 0)
    first = torch.where(counts, labels[:, None], 0)
    return (probabilities * share).scatter_add(1, first, -share)


class _Gradients:
    """Sums over blocks of rows."""

    def __init__(self, x: Tensor, weight: Tensor, names: Sequence[str]) -> None:
        self.weight, self.names = weight, names
        self.x: list[Tensor] = []
        self.of_weight, self.of_bias = torch.zeros_like(weight), weight.new_zeros(len(weight))

    def add(self, part: Tensor, g: Tensor) -> None:
        if "x" in self.names:
            self.x.append(g @ self.weight)
        if "weight" in self.names:
            self.of_weight += g.T @ part
        if "bias" in self.names:
            self.of_bias += g.sum(0)

    def named(self) -> Iterator[Tensor]:
        for name in self.names:
            yield torch.cat(self.x) if name == "x" else self.of_weight if name == "weight" else self.of_bias


def _gradient_types(x: Tensor, weight: Tensor, names: Sequence[str]) -> list[Tensor]:
    shapes = {"x": x.shape, "weight": weight.shape, "bias": weight.shape[:1]}
    return [x.new_empty(shapes[name]) for name in names]


@linear_cross_entropy.register_fake
def _(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, ignore_index: int, mean: bool, rows: int,
    gradients: str,
) -> list[Tensor]:  # fmt: skip
    number = x.new_empty(())
    return [number, torch.empty_like(number), x.new_empty(labels.shape), *_gradient_types(x, weight, gradients.split())]


@linear_cross_entropy_backward.register_fake
def _(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, logsumexp: Tensor, scale: Tensor,
    ignore_index: int, rows: int, gradients: str,
) -> list[Tensor]:  # fmt: skip
    return _gradient_types(x, weight, gradients.split())


def _forward(
    b: Builder, x: Node, weight: Node, bias: Node | None, labels: Node, ignore_index: int, mean: bool, rows: int,
    gradients: str,
) -> tuple[Node, ...]:  # fmt: skip
    inputs = (x, weight, labels, *([] if bias is None else [bias]))
    node = b.node(
        "linear_cross_entropy", inputs, *b.call.types, ignore_index=ignore_index, mean=bool(mean), rows=rows,
        gradients=tuple(gradients.split()),
    )  # fmt: skip
    return _results(b, node)


def _backward(
    b: Builder, x: Node, weight: Node, bias: Node | None, labels: Node, logsumexp: Node, scale: Node,
    ignore_index: int, rows: int, gradients: str,
) -> tuple[Node, ...]:  # fmt: skip
    inputs = (x, weight, labels, logsumexp, scale, *([] if bias is None else [bias]))
    attrs = {"ignore_index": ignore_index, "rows": rows, "gradients": tuple(gradients.split())}
    return _results(b, b.node("linear_cross_entropy_backward", inputs, *b.call.types, **attrs))


def _results(b: Builder, node: Node) -> tuple[Node, ...]:
    return tuple(b.node("item", (node,), type, index=i) for i, type in enumerate(node.types))


RULES["strop.linear_cross_entropy.default"] = _forward
RULES["strop.linear_cross_entropy_backward.default"] = _backward
