"""Activations, kept whole where the operator set names them."""

from __future__ import annotations

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Operand, Unfit, aten
from strop.graph.ir import Node


@aten("relu")
def relu(b: Builder, x: Node) -> Node:
    return b.unary("relu", x)


@aten("gelu")
def gelu(b: Builder, x: Node, approximate: str = "none") -> Node:
    return b.unary("gelu", x, approximate=approximate)


@aten("silu")
def silu(b: Builder, x: Node) -> Node:
    return b.unary("silu", b.cast(x, b.call.dtype))


@aten("hardswish")
def hardswish(b: Builder, x: Node) -> Node:
    return b.unary("hardswish", x)


@aten("hardsigmoid")
def hardsigmoid(b: Builder, x: Node) -> Node:
    return b.unary("hardsigmoid", x)


@aten("mish")
def mish(b: Builder, x: Node) -> Node:
    return b.unary("mish", b.cast(x, b.call.dtype))


@aten("softplus")
def softplus(b: Builder, x: Node, beta: float = 1, threshold: float = 20) -> Node:
    return b.unary("softplus", b.cast(x, b.call.dtype), beta=float(beta), threshold=float(threshold))


@aten("elu")
def elu(b: Builder, x: Node, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Node:
    return b.unary("elu", x, alpha=float(alpha), scale=float(scale), input_scale=float(input_scale))


@aten("selu")
def selu(b: Builder, x: Node) -> Node:
    return elu(b, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@aten("celu")
def celu(b: Builder, x: Node, alpha: float = 1) -> Node:
    return elu(b, x, alpha, 1, 1 / alpha)


@aten("leaky_relu")
def leaky_relu(b: Builder, x: Node, slope: float = 0.01) -> Node:
    return b.unary("leaky_relu", x, slope=float(slope))


@aten("rrelu")
def rrelu(b: Builder, x: Node, low: float, high: float, training: bool, *_: object) -> Node:
    if training:
        raise Unfit("rrelu in training draws random numbers")
    return leaky_relu(b, x, (low + high) / 2)


@aten("rrelu_with_noise_functional")
def rrelu_with_noise(
    b: Builder, x: Node, noise: Node, low: float, high: float, training: bool, *_: object
) -> tuple[Node, ...]:
    return rrelu(b, x, low, high, training), noise


@aten("prelu", "_prelu_kernel")
def prelu(b: Builder, x: Node, weight: Node) -> Node:
    """A weight per channel (dimension 1), or one for all."""
    if weight.type.rank == 1 and weight.type.size > 1:
        weight = b.reshape(weight, (weight.shape[0], *(1 for _ in x.shape[2:])))
    elif weight.type.size == 1:
        weight = b.reshape(weight, ())
    return b.where(b.compare("gt", x, 0), x, b.mul(weight, x))


@aten("threshold")
def threshold(b: Builder, x: Node, limit: float, value: Operand) -> Node:
    """`x > limit ? x : value`, NaN stays NaN."""
    return b.where(b.compare("le", x, limit), b.operand(value, x.dtype), x)
