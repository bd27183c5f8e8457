"""What pointwise operators compute: arithmetic, comparisons, activations, selection, conversion."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Node
from strop.graph.operators import ACTIVATIONS, BINARY, COMPARE, UNARY
from strop.runtime.meanings import MEANINGS, Meaning, means

Tensor = torch.Tensor


_TORCH_NAMES = {
    "not": torch.bitwise_not, "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.true_divide,
    "mod": torch.remainder, "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "floordiv": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "truncdiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}  # fmt: skip
for _name in (*UNARY, *BINARY, *COMPARE):
    _function = _TORCH_NAMES.get(_name) or getattr(torch, _name)
    MEANINGS[_name] = lambda node, *inputs, _function=_function: _function(*inputs)

_ACTIVATIONS: dict[str, Meaning] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softplus": F.softplus,
    "mish": F.mish,
    "elu": lambda x, alpha, scale, input_scale: torch.ops.aten.elu.default(x, alpha, scale, input_scale),
    "leaky_relu": lambda x, slope: F.leaky_relu(x, slope),
}
assert _ACTIVATIONS.keys() == ACTIVATIONS.keys()
for _name, _function in _ACTIVATIONS.items():
    MEANINGS[_name] = lambda node, x, _function=_function, **attrs: _function(x, **attrs)


@means("where")
def where(node: Node, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.where(condition, x, y)


@means("cast")
def cast(node: Node, x: Tensor) -> Tensor:
    return x.to(DTYPES[node.dtype])
