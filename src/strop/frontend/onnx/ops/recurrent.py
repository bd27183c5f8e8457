"""Recurrent networks: LSTM, GRU and RNN.

The usual forms become one call of torch's own operator, which stays whole in our graph and is compiled as a loop over
time. Rarer cells (peepholes, other activations, a clip, GRU's reset before the product) are written out step by step,
or, where that would be a long program, handed to a library node that takes the steps at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, ints, known, onnx, tracing
from strop.frontend.onnx.ops.cells import BYTES, CELLS, CellKind, activation, byte_steps, take_steps
from strop.frontend.torch.aten.nn import recurrent as recurrent_node
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import RULES
from strop.graph.ir import Node

#: more steps than this are taken by a library node
MOST_STEPS = 24
#: saturates a float32 or float64 sigmoid to exactly 0 or 1
FROZEN = 1.0e4
#: torch's order of the gates i, f, c, o in ONNX's i, o, f, c
LSTM_ORDER = (0, 2, 3, 1)


@dataclass(frozen=True)
class GateWeights:
    """One direction's weights, gates in ONNX's order."""

    w: Tensor
    r: Tensor
    b: Tensor | None
    p: Tensor | None = None

    def in_order(self, gates: Sequence[int]) -> list[Tensor]:
        """As torch's `params` list wants them, gate by gate."""
        both = self.b.chunk(2) if self.b is not None else ()
        return [_gates(t, gates) for t in (self.w, self.r, *both)]


def _gates(x: Tensor, order: Sequence[int]) -> Tensor:
    if list(order) == list(range(len(order))):
        return x
    parts = x.chunk(len(order))
    return torch.cat([parts[i] for i in order])


@onnx("LSTM")
def lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None, initial_c: Tensor | None = None, p: Tensor | None = None, *,
    hidden_size: int | None = None, direction: str = "forward", activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (), activation_beta: Sequence[float] = (), clip: float | None = None,
    input_forget: int = 0, layout: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gates i, o, f, c; results Y, Y_h, Y_c."""
    cell = CellKind("lstm", clip, bool(input_forget))
    return recurrent(cell, LSTM_ORDER, x, w, r, b, p, sequence_lens, [initial_h, initial_c], direction, activations,
                      activation_alpha, activation_beta, layout)  # fmt: skip


@onnx("GRU")
def gru(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None, *, hidden_size: int | None = None, direction: str = "forward",
    activations: Sequence[str] | None = None, activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (), clip: float | None = None, linear_before_reset: int = 0, layout: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gates z, r, h; results Y, Y_h. Torch's GRU is the one with linear_before_reset."""
    cell = CellKind("gru", clip, False, bool(linear_before_reset))
    return recurrent(cell, (1, 0, 2), x, w, r, b, None, sequence_lens, [initial_h], direction, activations,
                      activation_alpha, activation_beta, layout)  # fmt: skip


@onnx("RNN")
def rnn(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None, *, hidden_size: int | None = None, direction: str = "forward",
    activations: Sequence[str] | None = None, activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (), clip: float | None = None, layout: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """One gate; results Y, Y_h."""
    cell = CellKind("rnn", clip)
    return recurrent(cell, (0,), x, w, r, b, None, sequence_lens, [initial_h], direction, activations,
                      activation_alpha, activation_beta, layout)  # fmt: skip


def recurrent(
    cell: CellKind, order: Sequence[int], x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, p: Tensor | None,
    sequence_lens: Tensor | None, initial: Sequence[Tensor | None], direction: str, activations: Sequence[str] | None,
    alpha: Sequence[float], beta: Sequence[float], layout: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """All three operators. `layout` 1 has the batch before the time and before the directions."""
    if direction not in ("forward", "reverse", "bidirectional"):
        raise Unsupported(f"direction `{direction}`")
    directions = 2 if direction == "bidirectional" else 1
    if w.shape[0] != directions or r.shape[0] != directions:
        raise Unsupported(f"{w.shape[0]} sets of weights for the direction `{direction}`")
    if x.dim() != 3:
        raise Unsupported(f"an input of shape {list(x.shape)}; it needs three dimensions")
    if layout:
        x = x.transpose(0, 1)
        initial = [s.transpose(0, 1) if s is not None else None for s in initial]
    hidden = r.shape[-1]
    rows = len(order) * hidden
    expected = {"W": (w, (rows, x.shape[2])), "R": (r, (rows, hidden)), "B": (b, (2 * rows,))}
    expected |= {"P": (p, (3 * hidden,)), **{f"state {i}": (s, (x.shape[1], hidden)) for i, s in enumerate(initial)}}
    for name, (given, shape) in expected.items():
        if given is not None and tuple(given.shape) != (directions, *shape):
            raise Unsupported(f"{name} of shape {list(given.shape)}; it needs {[directions, *shape]}")
    states = [s if s is not None else x.new_zeros(directions, x.shape[1], hidden) for s in initial]
    lengths, steps = _lengths(sequence_lens, x.shape[0])
    whole = x.shape[0]
    if steps < whole:
        x = x[:steps]
    gates = [GateWeights(_part(w, d), _part(r, d), b[d] if b is not None else None, p[d] if p is not None else None)
             for d in range(directions)]  # fmt: skip
    functions = _activations(cell, activations, alpha, beta, directions)
    plain = not cell.unusual and p is None and all(f.names == CELLS[cell.kind].usual for f in functions)
    if cell.kind == "rnn" and cell.clip is None:
        plain = all(f.names in (("Tanh",), ("Relu",)) and f.names == functions[0].names for f in functions)
    if plain:
        kernel = f"rnn_{functions[0].names[0].lower()}" if cell.kind == "rnn" else cell.kind
        y, last = _whole(kernel, order, x, gates, states, lengths, direction)
    else:
        y, last = _stepwise(cell, functions, x, gates, states, lengths, direction)
    if steps < whole:
        y = torch.cat([y, y.new_zeros(whole - steps, *y.shape[1:])])
    if layout:
        return y.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in last)
    return y, *last


def _part(weights: Tensor, direction: int) -> Tensor:
    """The weights of one direction, with what is known of them as bytes."""
    own, kept = weights[direction], getattr(weights, BYTES, None)
    if kept is not None:
        setattr(own, BYTES, kept[direction])
    return own


def _lengths(sequence_lens: Tensor | None, time: int) -> tuple[Tensor | None, int]:
    """The lengths where sequences differ, and how many steps are needed at most."""
    if sequence_lens is None:
        return None, time
    values = known(sequence_lens)
    if values is None:
        return sequence_lens, time
    lengths = ints(values)
    longest, shortest = (max(lengths), min(lengths)) if lengths else (time, time)
    if not 0 <= shortest <= longest <= time:
        raise Unsupported(f"sequence lengths from {shortest} to {longest}, but the input has {time} steps")
    return (None if shortest == longest and longest else sequence_lens), longest


@dataclass(frozen=True)
class CellActivations:
    """One direction's activation functions."""

    names: tuple[str, ...]
    calls: tuple[Callable[[Tensor], Tensor], ...]
    alpha: tuple[float, ...]
    beta: tuple[float, ...]


def _activations(
    cell: CellKind, names: Sequence[str] | None, alpha: Sequence[float], beta: Sequence[float], directions: int
) -> list[CellActivations]:
    usual = CELLS[cell.kind].usual
    given = list(names) if names else list(usual) * directions
    if len(given) != len(usual) * directions:
        raise Unsupported(f"{len(given)} activations for {directions} direction(s) of {len(usual)}")
    alphas, betas = list(alpha), list(beta)
    made = []
    for d in range(directions):
        own = [activation(n, alphas, betas) for n in given[d * len(usual) : (d + 1) * len(usual)]]
        made.append(CellActivations(*(tuple(part) for part in zip(*((a.name, a.call, a.alpha, a.beta) for a in own)))))
    return made


def _whole(
    kernel: str, order: Sequence[int], x: Tensor, gates: Sequence[GateWeights], states: Sequence[Tensor],
    lengths: Tensor | None, direction: str,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """By torch's operator. Sequences of different lengths run each direction alone, forwards."""
    layer = torch.ops.strop.recurrent_layer if tracing() else layer_of_torch

    def run(x: Tensor, weights: Sequence[Tensor], states: Sequence[Tensor], both: bool) -> tuple[Tensor, list[Tensor]]:
        y, *last = layer(kernel, x, list(states), list(weights), both)
        return y, last

    if lengths is None and direction == "bidirectional":
        y, last = run(x, [t for g in gates for t in g.in_order(order)], states, True)
        return y.reshape(*y.shape[:2], 2, -1).transpose(1, 2), last
    ys, lasts = [], []
    for d, weights in enumerate(gates):
        backwards = direction == "reverse" or d == 1
        own = [s[d : d + 1] for s in states]
        if lengths is None:
            y, last = run(x.flip(0) if backwards else x, weights.in_order(order), own, False)
            y = y.flip(0) if backwards else y
        else:
            y, last = _ragged(run, kernel, x, weights.in_order(order), own, lengths, backwards)
        ys.append(y)
        lasts.append(last)
    return torch.stack(ys, 1), [torch.cat(parts) for parts in zip(*lasts)]


def layer_of_torch(kernel: str, x: Tensor, states: list[Tensor], weights: list[Tensor], both: bool) -> list[Tensor]:
    """The states at all times, and the last ones."""
    start = tuple(states) if len(states) > 1 else states[0]
    return list(getattr(torch, kernel)(x, start, weights, _biased(weights, both), 1, 0.0, False, both, False))


def _biased(weights: Sequence[Any], both: bool) -> bool:
    return len(weights) > 2 + 2 * both


@torch.library.custom_op("strop::recurrent_layer", mutates_args=())
def recurrent_layer(kernel: str, x: Tensor, states: list[Tensor], weights: list[Tensor], both: bool) -> list[Tensor]:
    """A layer by torch's operator, which itself would be traced through every step to find the shapes."""
    return layer_of_torch(kernel, x, states, weights, both)


@recurrent_layer.register_fake
def _(kernel: str, x: Tensor, states: list[Tensor], weights: list[Tensor], both: bool) -> list[Tensor]:
    hidden = weights[1].shape[1]
    return [x.new_empty(*x.shape[:2], hidden * (1 + both)), *(s.new_empty(s.shape) for s in states)]


def _layer_node(
    b: Builder, kernel: str, x: Node, states: Sequence[Node], weights: Sequence[Node], both: bool
) -> tuple[Node, ...]:
    op, _, kind = kernel.partition("_")
    more = {"nonlinearity": kind} if kind else {}
    return recurrent_node(b, op, x, states, weights, _biased(weights, both), 1, 0.0, False, both, False, **more)


RULES["strop.recurrent_layer.default"] = _layer_node


def _ragged(
    run: Callable[..., tuple[Tensor, list[Tensor]]], kernel: str, x: Tensor, weights: list[Tensor],
    states: list[Tensor], lengths: Tensor, backwards: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """One direction over sequences of different lengths.

    The last hidden state is the output at the length. An LSTM's cell state appears nowhere but at the end, so it is
    frozen past the length: an extra input feature, 1 there, shuts the input gate and opens the forget gate fully.
    """
    lengths = lengths.to(torch.int64)
    step = torch.arange(x.shape[0]).unsqueeze(1)
    inside = step < lengths
    if backwards:
        mirrored = torch.where(inside, lengths - 1 - step, step).unsqueeze(2)
        x = x.gather(0, mirrored.expand_as(x))
    if kernel == "lstm":
        x = torch.cat([x, (~inside).to(x.dtype).unsqueeze(2)], 2)
        hidden = weights[1].shape[1]
        shut = weights[0].new_zeros(4 * hidden, 1)
        shut = torch.cat([shut[:hidden] - FROZEN, shut[hidden : 2 * hidden] + FROZEN, shut[2 * hidden :]])
        weights = [torch.cat([weights[0], shut], 1), *weights[1:]]
    y, last = run(x, weights, states, False)
    ends = lengths.reshape(1, -1, 1).expand(1, *y.shape[1:])
    h = torch.cat([states[0], y]).gather(0, ends)
    if backwards:
        y = y.gather(0, mirrored.expand_as(y))
    y = torch.where(inside.unsqueeze(2), y, 0.0)
    return y, [h, *last[1:]]


def _stepwise(
    cell: CellKind, functions: Sequence[CellActivations], x: Tensor, gates: Sequence[GateWeights],
    states: Sequence[Tensor], lengths: Tensor | None, direction: str,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    ys, lasts = [], []
    for d, weights in enumerate(gates):
        backwards = direction == "reverse" or d == 1
        own = [s[d] for s in states]
        usual = cell == CellKind("lstm", rounded=True) and functions[d].names == CELLS["lstm"].usual
        if usual and weights.p is None and lengths is None:
            found = byte_steps(cell, x, weights.w, weights.r, weights.b, own, backwards)
            if found is not None:
                ys.append(found[0])
                lasts.append(found[1])
                continue
        if x.shape[0] <= MOST_STEPS:
            y, last = take_steps(cell, functions[d].calls, x, weights.w, weights.r, weights.b, weights.p, own, lengths,
                                 backwards)  # fmt: skip
        else:
            f = functions[d]
            y, *last = torch.ops.strop.recurrent_steps(
                x, weights.w, weights.r, weights.b, weights.p, own, lengths, backwards, str(cell), " ".join(f.names),
                list(f.alpha), list(f.beta),
            )  # fmt: skip
        ys.append(y)
        lasts.append(last)
    return torch.stack(ys, 1), [torch.stack(parts) for parts in zip(*lasts)]
