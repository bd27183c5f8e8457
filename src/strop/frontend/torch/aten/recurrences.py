"""One direction of one recurrent layer in training: what walks through time, and the walk back that its gradients take.

    recurrence(x[T,B,G·H], (h0[, c0]), weight[G·H,H], bias of a GRU, cell, backwards)
        → states[T+1,B,H], for an LSTM its cells[T+1,B,H], for LSTM and GRU what the gates let through [T,B,4·H]
    recurrence_backward((d_states[T,B,H][, d_c[B,H]]), what the walk kept, weight, cell, backwards)
        → d_x, d_h0[, d_c0], for a GRU also the gradients of weight·h + bias [T,B,3·H]

`x` is the input's part of the gates. Entry t of the states is the state before time t, and t + 1 the one after it; a
walk backwards has them the other way round. So all but one entry of the states are the layer's results, all but one of
them are what the weight is multiplied by, and neither is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import RULES
from strop.graph.ir import Node

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


@torch.library.custom_op("strop::recurrence", mutates_args=())
def recurrence(
    x: Tensor, begin: list[Tensor], weight: Tensor, bias: Tensor | None, cell: str, backwards: bool
) -> list[Tensor]:
    times = range(len(x))[::-1] if backwards else range(len(x))
    states, kept = [[state.clone() for state in begin]], []
    for time in times:
        sums = states[-1][0] @ weight.T
        state, passed = _CELLS[cell](x[time], sums if bias is None else sums + bias, *states[-1])
        states.append(state)
        kept.append(passed)
    made = [torch.stack(each[::-1] if backwards else each) for each in zip(*states)]
    if cell in ("lstm", "gru"):
        made.append(torch.stack(kept[::-1] if backwards else kept))
    return made


Step = tuple[list[Tensor], Tensor]


def _lstm(x: Tensor, sums: Tensor, h: Tensor, c: Tensor) -> Step:
    i, f, g, o = (x + sums).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return [o * c.tanh(), c], torch.cat([i, f, g, o], 1)


def _gru(x: Tensor, sums: Tensor, h: Tensor) -> Step:
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), sums.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return [(1 - z) * n + z * h], torch.cat([r, z, n, hn], 1)


def _tanh(x: Tensor, sums: Tensor, h: Tensor) -> Step:
    return [(x + sums).tanh()], x


def _relu(x: Tensor, sums: Tensor, h: Tensor) -> Step:
    return [(x + sums).relu()], x


_CELLS: dict[str, Callable[..., Step]] = {"lstm": _lstm, "gru": _gru, "tanh": _tanh, "relu": _relu}


@recurrence.register_fake
def _(x: Tensor, begin: list[Tensor], weight: Tensor, bias: Tensor | None, cell: str, backwards: bool) -> list[Tensor]:
    time, (batch, units) = x.shape[0], begin[0].shape
    made = [x.new_empty([time + 1, batch, units]) for _ in begin]
    return [*made, x.new_empty([time, batch, 4 * units])] if cell in ("lstm", "gru") else made


@torch.library.custom_op("strop::recurrence_backward", mutates_args=())
def recurrence_backward(
    gradients: list[Tensor], kept: list[Tensor], weight: Tensor, cell: str, backwards: bool
) -> list[Tensor]:
    shown, *last = gradients
    time, states = len(shown), kept[0]
    dh, dc = torch.zeros_like(states[0]), last[0].clone() if last else torch.zeros_like(states[0])
    of_x, of_sums = [], []
    for at in range(time) if backwards else range(time)[::-1]:
        old, new = (at + 1, at) if backwards else (at, at + 1)
        dh = dh + shown[at]
        beside = torch.zeros_like(dh)
        if cell == "lstm":
            i, f, g, o = kept[2][at].chunk(4, 1)
            shape = kept[1][new].tanh()
            dc = dc + dh * o * (1 - shape * shape)
            parts = [dc * g * i * (1 - i), dc * kept[1][old] * f * (1 - f), dc * i * (1 - g * g),
                     dh * shape * o * (1 - o)]  # fmt: skip
            dc = dc * f
            given = made = torch.cat(parts, 1)
        elif cell == "gru":
            r, z, n, hn = kept[1][at].chunk(4, 1)
            dn = dh * (1 - z) * (1 - n * n)
            shared = [dn * hn * r * (1 - r), dh * (states[old] - n) * z * (1 - z)]
            given, made, beside = torch.cat([*shared, dn], 1), torch.cat([*shared, dn * r], 1), dh * z
        else:
            y = states[new]
            given = made = dh * (1 - y * y) if cell == "tanh" else dh.masked_fill(y <= 0, 0.0)
        dh = made @ weight + beside
        of_x.append(given)
        of_sums.append(made)
    found = [torch.stack(each if backwards else each[::-1]) for each in (of_x, of_sums)]
    return [found[0], dh, *([dc] if cell == "lstm" else []), *found[1 : 2 if cell == "gru" else 1]]


@recurrence_backward.register_fake
def _(gradients: list[Tensor], kept: list[Tensor], weight: Tensor, cell: str, backwards: bool) -> list[Tensor]:
    time, batch, units = gradients[0].shape
    of_x = gradients[0].new_empty([time, batch, GATES[cell] * units])
    states = [gradients[0].new_empty([batch, units]) for _ in range(2 if cell == "lstm" else 1)]
    return [of_x, *states, *([torch.empty_like(of_x)] if cell == "gru" else [])]


def _walk(
    b: Builder, x: Node, begin: Sequence[Node], weight: Node, bias: Node | None, cell: str, backwards: bool
) -> tuple[Node, ...]:
    inputs = (x, *begin, weight, *([] if bias is None else [bias]))
    return _results(b, b.node("recurrence", inputs, *b.call.types, cell=cell, backwards=bool(backwards)))


def _walk_back(
    b: Builder, gradients: Sequence[Node], kept: Sequence[Node], weight: Node, cell: str, backwards: bool
) -> tuple[Node, ...]:
    inputs = (*gradients, *kept, weight)
    return _results(b, b.node("recurrence_backward", inputs, *b.call.types, cell=cell, backwards=bool(backwards)))


def _results(b: Builder, node: Node) -> tuple[Node, ...]:
    return tuple(b.node("item", (node,), type, index=i) for i, type in enumerate(node.types))


RULES["strop.recurrence.default"] = _walk
RULES["strop.recurrence_backward.default"] = _walk_back
