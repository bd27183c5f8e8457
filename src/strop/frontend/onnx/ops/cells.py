"""The cells of recurrent networks, one step at a time, for the forms that torch's own operators do not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, byte_products
from strop.frontend.torch.aten.byte_products import rounded_to_bytes

Function = Callable[[Tensor], Tensor]
#: the attribute under which weights keep what they are as bytes, and the scale of these
BYTES = "_strop_bytes"


class Kind(NamedTuple):
    gates: int
    usual: tuple[str, ...]  # the default activations of one direction


CELLS = {
    "lstm": Kind(4, ("Sigmoid", "Tanh", "Tanh")),
    "gru": Kind(3, ("Sigmoid", "Tanh")),
    "rnn": Kind(1, ("Tanh",)),
}


class CellKind(NamedTuple):
    """What kind of cell, and how it departs from the usual one."""

    kind: str
    clip: float | None = None
    coupled: bool = False  # LSTM: the forget gate is one minus the input gate
    product_first: bool = False  # GRU: reset the product of the state, not the state
    rounded: bool = False  # LSTM: input and state are rounded to 8 bits before they are multiplied

    @property
    def unusual(self) -> bool:
        plain_gru = self.kind != "gru" or self.product_first
        return self.clip is not None or self.coupled or self.rounded or not plain_gru

    def __str__(self) -> str:
        return f"{self.kind} {self.clip} {int(self.coupled)} {int(self.product_first)} {int(self.rounded)}"

    @classmethod
    def read(cls, text: str) -> CellKind:
        kind, clip, *flags = text.split()
        return cls(kind, None if clip == "None" else float(clip), *(flag == "1" for flag in flags))


class CellActivation(NamedTuple):
    name: str
    call: Function
    alpha: float
    beta: float


#: name → (function of x, alpha, beta; default alpha and beta, None for a parameter that it lacks)
_FUNCTIONS: dict[str, tuple[Callable[[Tensor, float, float], Tensor], float | None, float | None]] = {
    "Sigmoid": (lambda x, a, b: torch.sigmoid(x), None, None),
    "Tanh": (lambda x, a, b: torch.tanh(x), None, None),
    "Relu": (lambda x, a, b: torch.relu(x), None, None),
    "Softsign": (lambda x, a, b: x / (1 + x.abs()), None, None),
    "Softplus": (lambda x, a, b: torch.nn.functional.softplus(x), None, None),
    "Elu": (lambda x, a, b: torch.nn.functional.elu(x, a), 1.0, None),
    "LeakyRelu": (lambda x, a, b: torch.nn.functional.leaky_relu(x, a), 0.01, None),
    "ThresholdedRelu": (lambda x, a, b: torch.where(x > a, x, 0.0), 1.0, None),
    "Affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "ScaledTanh": (lambda x, a, b: a * torch.tanh(b * x), 1.0, 1.0),
    "HardSigmoid": (lambda x, a, b: torch.clamp(a * x + b, 0.0, 1.0), 0.2, 0.5),
}


def activation(name: str, alphas: list[float], betas: list[float]) -> CellActivation:
    """One activation; those that have parameters take theirs from the front of the lists."""
    known = {key.lower(): key for key in _FUNCTIONS}
    if name.lower() not in known:
        raise Unsupported(f"activation `{name}`; there are {', '.join(_FUNCTIONS)}")
    key = known[name.lower()]
    function, alpha, beta = _FUNCTIONS[key]
    a = alphas.pop(0) if alpha is not None and alphas else alpha or 0.0
    b = betas.pop(0) if beta is not None and betas else beta or 0.0
    return CellActivation(key, lambda x: function(x, a, b), a, b)


def take_steps(
    cell: CellKind, functions: Sequence[Function], x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, p: Tensor | None,
    states: Sequence[Tensor], lengths: Tensor | None, backwards: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """One direction from start to end: all outputs, the last states."""
    time, (h, *rest) = x.shape[0], states
    c = rest[0] if rest else h
    bias_w, bias_r = b.chunk(2) if b is not None else (None, None)
    projected = _product(cell, x, w, bias_w)
    steps = _STEPS[cell.kind]
    ys: list[Tensor] = []
    for t in reversed(range(time)) if backwards else range(time):
        new_h, new_c = steps(cell, functions, projected[t], h, c, r, bias_r, p)
        if lengths is None:
            h, c = new_h, new_c
            ys.append(h)
            continue
        live = (lengths > t).unsqueeze(1)
        h, c = torch.where(live, new_h, h), torch.where(live, new_c, c)
        ys.append(torch.where(live, new_h, 0.0))
    y = torch.stack(ys[::-1] if backwards else ys) if ys else x.new_zeros(0, *h.shape)
    return y, [h, c] if rest else [h]


def byte_steps(
    cell: CellKind, x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, states: Sequence[Tensor], backwards: bool
) -> tuple[Tensor, list[Tensor]] | None:
    """`take_steps` of the usual rounded LSTM as one loop; None where its weights are not known as bytes."""
    known: tuple[byte_products.ByteWeights, Tensor] | None = getattr(r, BYTES, None)
    if known is None or known[0].excess is not None or r.shape[-1] % 4 or b is None:
        return None
    weights, scale = known
    projected = _product(cell, x, w, None) + (b[: r.shape[0]] + b[r.shape[0] :])
    scales = scale.expand(r.shape[0]).contiguous()
    y, *last = torch.ops.strop.byte_lstm(projected, *states, weights.bytes, weights.sums, scales, backwards)
    return y, last


def _clipped(cell: CellKind, x: Tensor) -> Tensor:
    return x if cell.clip is None else x.clamp(-cell.clip, cell.clip)


def _product(cell: CellKind, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x @ weight.T + bias, with x rounded to 8 bits first where the cell says so."""
    if not cell.rounded:
        return torch.nn.functional.linear(x, weight, bias)
    value, step, zero = rounded_to_bytes(x)
    known: tuple[byte_products.ByteWeights, Tensor] | None = getattr(weight, BYTES, None)
    if known is None:
        return torch.nn.functional.linear((value - zero) * step, weight, bias)
    product = byte_products.times(value, zero, known[0]).to(torch.float32) * (step * known[1])
    return product if bias is None else product + bias


def _lstm(
    cell: CellKind, functions: Sequence[Function], x: Tensor, h: Tensor, c: Tensor, r: Tensor, bias: Tensor | None,
    p: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    f, g, out = functions
    i, o, forget, new = (x + _product(cell, h, r, bias)).chunk(4, 1)
    peep = p.chunk(3) if p is not None else None
    if peep is not None:
        i, forget = i + peep[0] * c, forget + peep[2] * c
    i = f(_clipped(cell, i))
    forget = 1 - i if cell.coupled else f(_clipped(cell, forget))
    c = forget * c + i * g(_clipped(cell, new))
    if peep is not None:
        o = o + peep[1] * c
    return f(_clipped(cell, o)) * out(c), c


def _gru(
    cell: CellKind, functions: Sequence[Function], x: Tensor, h: Tensor, c: Tensor, r: Tensor, bias: Tensor | None,
    p: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    f, g = functions
    xz, xr, xh = x.chunk(3, 1)
    rz, rr, rh = r.chunk(3)
    bz, br, bh = bias.chunk(3) if bias is not None else (None, None, None)
    linear = torch.nn.functional.linear
    z = f(_clipped(cell, xz + linear(h, rz, bz)))
    reset = f(_clipped(cell, xr + linear(h, rr, br)))
    product = reset * linear(h, rh, bh) if cell.product_first else linear(reset * h, rh, bh)
    new = g(_clipped(cell, xh + product))
    h = (1 - z) * new + z * h
    return h, h


def _rnn(
    cell: CellKind, functions: Sequence[Function], x: Tensor, h: Tensor, c: Tensor, r: Tensor, bias: Tensor | None,
    p: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    h = functions[0](_clipped(cell, x + torch.nn.functional.linear(h, r, bias)))
    return h, h


_STEPS = {"lstm": _lstm, "gru": _gru, "rnn": _rnn}


@torch.library.custom_op("strop::recurrent_steps", mutates_args=())
def recurrent_steps(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, p: Tensor | None, states: list[Tensor], lengths: Tensor | None,
    backwards: bool, cell: str, names: str, alpha: list[float], beta: list[float],
) -> list[Tensor]:  # fmt: skip
    """`take_steps` as one operator; alpha and beta have a value for every activation, needed or not."""
    functions = [activation(n, [a], [z]).call for n, a, z in zip(names.split(), alpha, beta)]
    y, last = take_steps(CellKind.read(cell), functions, x, w, r, b, p, states, lengths, backwards)
    return [y, *(s.clone() for s in last)]


@recurrent_steps.register_fake
def _(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, p: Tensor | None, states: list[Tensor], lengths: Tensor | None,
    backwards: bool, cell: str, names: str, alpha: list[float], beta: list[float],
) -> list[Tensor]:  # fmt: skip
    return [x.new_empty(x.shape[0], x.shape[1], r.shape[-1]), *(torch.empty_like(s) for s in states)]
