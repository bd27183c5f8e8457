"""Recurrent layers for training, written in operators that have gradients.

AOTAutograd cannot trace torch's own: their backward needs a workspace of oneDNN that has no form in a graph. So calls
of `torch.lstm`, `gru`, `rnn_tanh` and `rnn_relu` in what Dynamo traced are replaced by what they compute: for each
layer and direction a linear layer over all times, a walk through time (`aten/recurrences.py`), and dropout in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode

from strop.frontend.torch.aten import recurrences  # noqa: F401  (registers torch.ops.strop.recurrence)

_CELLS: dict[Any, str] = {torch.lstm: "lstm", torch.gru: "gru", torch.rnn_tanh: "tanh", torch.rnn_relu: "relu"}
#: input, states, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first
_ARGUMENTS = 9


def written_out(graph_module: GraphModule) -> str:
    """Replace the recurrent layers of a graph; or say why the graph has one that cannot be, and leave it as it is."""
    found = [node for node in graph_module.graph.nodes if node.op == "call_function" and node.target in _CELLS]
    for node in found:
        if reason := _unfit(node):
            return reason
    for node in found:
        node.target = partial(layers, _CELLS[node.target])
    if found:
        graph_module.recompile()
    return ""


def _unfit(node: FxNode) -> str:
    name = node.target.__name__  # type: ignore[union-attr]
    if node.kwargs or len(node.args) != _ARGUMENTS or isinstance(node.args[3], Sequence):
        return f"`{name}` takes a packed sequence"
    x, _, weights, biased, depth, dropout, train, both, _ = node.args
    if len(weights) != depth * (2 if both else 1) * (4 if biased else 2):  # type: ignore[arg-type, operator]
        return f"`{name}` projects its state"
    if isinstance(dropout, FxNode) and train and depth > 1:  # type: ignore[operator]
        return f"`{name}` takes its dropout as data, which Dynamo does for models that differ in nothing else"
    if any(other.target is torch.amp.autocast_mode._enter_autocast for other in node.graph.nodes):
        return f"`{name}` under autocast"
    value = x.meta.get("example_value") if isinstance(x, FxNode) else None
    if not isinstance(value, Tensor) or value.dtype not in (torch.float32, torch.float64):
        return f"`{name}` of {value.dtype if isinstance(value, Tensor) else 'an unknown type'}"
    return ""


def layers(
    cell: str, x: Tensor, begin: Tensor | Sequence[Tensor], weights: Sequence[Tensor], biased: bool, depth: int,
    dropout: float, train: bool, both: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """What `torch.lstm`, `torch.gru`, … return: the last layer's states at all times, and all layers' last states."""
    begins = [begin] if isinstance(begin, Tensor) else list(begin)
    directions, each = 2 if both else 1, 4 if biased else 2
    x = x.transpose(0, 1) if batch_first else x
    ends: list[tuple[Tensor, ...]] = []
    for layer in range(depth):
        shown = []
        for direction in range(directions):
            number = layer * directions + direction
            own = weights[each * number : each * (number + 1)]
            out, *end = _walk(cell, x, [state[number] for state in begins], own, direction == 1)
            shown.append(out)
            ends.append(tuple(end))
        x = torch.cat(shown, -1) if both else shown[0]
        if dropout and train and layer + 1 < depth:
            x = F.dropout(x, dropout)
    return x.transpose(0, 1) if batch_first else x, *map(torch.stack, zip(*ends))


def _walk(cell: str, x: Tensor, begin: Sequence[Tensor], own: Sequence[Tensor], backwards: bool) -> tuple[Tensor, ...]:
    """The states at all times, and the last ones."""
    of_input, of_state, *biases = own
    inner = biases[1] if biases and cell == "gru" else None  # a GRU scales it, the others only add it
    bias = None if not biases else biases[0] if cell == "gru" else biases[0] + biases[1]
    projected = F.linear(x, of_input, bias)
    states = _Recurrence.apply(  # type: ignore[no-untyped-call]
        cell, backwards, projected, of_state, inner, *begin
    )
    last = 0 if backwards else -1
    return states[0][:-1] if backwards else states[0][1:], *(state[last] for state in states)


class _Recurrence(torch.autograd.Function):
    """The walk as a differentiable function: its results are the states, and the cells of an LSTM."""

    @staticmethod
    def forward(
        ctx: Any, cell: str, backwards: bool, x: Tensor, weight: Tensor, bias: Tensor | None, *begin: Tensor
    ) -> tuple[Tensor, ...]:
        made = torch.ops.strop.recurrence(x, list(begin), weight, bias, cell, backwards)
        ctx.cell, ctx.backwards, ctx.biased = cell, backwards, bias is not None
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(weight, *made)
        return tuple(state.clone() for state in made[: len(begin)])  # the caller may write to them; no copy is made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        weight, *kept = ctx.saved_tensors
        states, backwards = kept[0], ctx.backwards
        shown, last = (slice(None, -1), 0) if backwards else (slice(1, None), -1)
        of_states = gradients[0][shown] if gradients[0] is not None else torch.zeros_like(states[shown])
        given = [of_states]
        if ctx.cell == "lstm":
            given.append(gradients[1][last] if gradients[1] is not None else torch.zeros_like(states[0]))
        # an RNN's derivative is told from its states alone
        of_x, *others = torch.ops.strop.recurrence_backward(given, kept, weight, ctx.cell, backwards)
        of_sums = others.pop() if ctx.cell == "gru" else of_x
        before = states[1:] if backwards else states[:-1]
        of_weight = of_sums.flatten(0, 1).T @ before.flatten(0, 1)
        of_bias = of_sums.sum((0, 1)) if ctx.biased else None
        return None, None, of_x, of_weight, of_bias, *others
