"""Constructors of nodes: each infers the type of what it makes.

    y = build.relu(build.add(build.conv(x, w, padding=1), 1.0))

A Python number stands for a 0-d `full` of the other operand's dtype. New nodes have no name; whoever puts them
into a graph gives them the name and origin of what they replace (`core/rewrite.py`), or passes `like`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strop.core.dtypes import is_float
from strop.core.extents import Extent
from strop.graph.infer import infer
from strop.graph.ir import Node, Type

Value = Node | float


def make(
    op: str,
    inputs: Sequence[Node] = (),
    attrs: Mapping[str, Any] | None = None,
    *,
    types: tuple[Type, ...] | None = None,
    like: Node | None = None,
) -> Node:
    """Any operator. `types` are needed where inputs and attributes don't tell; `like` lends its name and origin."""
    attrs = dict(attrs or {})
    inferred = infer(op, tuple(inputs), attrs, types)
    if like is None:
        return Node(op, tuple(inputs), attrs, inferred)
    return Node(op, tuple(inputs), attrs, inferred, like.name, like.origin, like.absorbed)


def input(index: int, dtype: str, shape: Sequence[Extent], name: str = "") -> Node:
    return Node("input", (), {"index": index}, (Type(dtype, tuple(shape)),), name or f"x{index}")


def param(key: str, dtype: str, shape: Sequence[Extent]) -> Node:
    return Node("param", (), {"key": key}, (Type(dtype, tuple(shape)),), key)


def full(value: float, dtype: str, shape: Sequence[Extent] = ()) -> Node:
    typed = bool(value) if dtype == "bool" else float(value) if is_float(dtype) else int(value)
    return make("full", (), {"value": typed}, types=(Type(dtype, tuple(shape)),))


def constant(values: Any, dtype: str, shape: Sequence[int]) -> Node:
    return make("constant", (), {"values": values}, types=(Type(dtype, tuple(shape)),))


def arange(count: Extent, dtype: str = "i64", start: float = 0, step: float = 1) -> Node:
    return make("arange", (), {"start": start, "step": step}, types=(Type(dtype, (count,)),))


def unary(op: str, x: Node, **attrs: Any) -> Node:
    return make(op, (x,), attrs)


def binary(op: str, a: Value, b: Value) -> Node:
    if isinstance(a, Node):
        return make(op, (a, b if isinstance(b, Node) else full(b, a.dtype)))
    if isinstance(b, Node):
        return make(op, (full(a, b.dtype), b))
    raise TypeError(f"`{op}` of two numbers: at least one operand must be a node")


def add(a: Value, b: Value) -> Node:
    return binary("add", a, b)


def sub(a: Value, b: Value) -> Node:
    return binary("sub", a, b)


def mul(a: Value, b: Value) -> Node:
    return binary("mul", a, b)


def div(a: Value, b: Value) -> Node:
    return binary("div", a, b)


def pow(a: Value, b: Value) -> Node:
    return binary("pow", a, b)


def maximum(a: Value, b: Value) -> Node:
    return binary("maximum", a, b)


def minimum(a: Value, b: Value) -> Node:
    return binary("minimum", a, b)


def neg(x: Node) -> Node:
    return unary("neg", x)


def exp(x: Node) -> Node:
    return unary("exp", x)


def sqrt(x: Node) -> Node:
    return unary("sqrt", x)


def rsqrt(x: Node) -> Node:
    return unary("rsqrt", x)


def reciprocal(x: Node) -> Node:
    return unary("reciprocal", x)


def relu(x: Node) -> Node:
    return unary("relu", x)


def sigmoid(x: Node) -> Node:
    return unary("sigmoid", x)


def where(condition: Node, a: Value, b: Value) -> Node:
    dtype = a.dtype if isinstance(a, Node) else b.dtype if isinstance(b, Node) else "f32"
    a, b = (n if isinstance(n, Node) else full(n, dtype) for n in (a, b))
    return make("where", (condition, a, b))


def cast(x: Node, dtype: str) -> Node:
    return x if x.dtype == dtype else make("cast", (x,), types=(Type(dtype, x.shape),))


def reshape(x: Node, shape: Sequence[Extent]) -> Node:
    if tuple(shape) == x.shape:
        return x
    return make("reshape", (x,), types=(Type(x.dtype, tuple(shape)),))


def expand(x: Node, shape: Sequence[Extent]) -> Node:
    if tuple(shape) == x.shape:
        return x
    return make("expand", (x,), types=(Type(x.dtype, tuple(shape)),))


def permute(x: Node, dims: Sequence[int]) -> Node:
    if list(dims) == list(range(len(dims))):
        return x
    return make("permute", (x,), {"dims": tuple(dims)})


def swap(x: Node) -> Node:
    """The transpose of the last two dimensions."""
    rank = len(x.shape)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def slice(x: Node, dim: int, start: int, stop: Extent, step: int = 1) -> Node:
    extent = max(-(-(stop - start) // step), 0)
    shape = (*x.shape[:dim], extent, *x.shape[dim + 1 :])
    return make("slice", (x,), {"dim": dim, "start": start, "step": step}, types=(Type(x.dtype, shape),))


def cat(parts: Sequence[Node], dim: int) -> Node:
    return make("cat", parts, {"dim": dim})


def reduce(op: str, x: Node, dims: Sequence[int], keepdim: bool = False, **attrs: Any) -> Node:
    return make(op, (x,), {"dims": tuple(dims), "keepdim": keepdim, **attrs})


def softmax(x: Node, dim: int = -1) -> Node:
    return make("softmax", (x,), {"dim": dim % len(x.shape)})


def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    return make("linear", (x, weight) if bias is None else (x, weight, bias))


def matmul(a: Node, b: Node) -> Node:
    return make("matmul", (a, b))


def conv(
    x: Node,
    weight: Node,
    bias: Node | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[tuple[int, int]] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    transposed: bool = False,
    output_padding: int | Sequence[int] = 0,
) -> Node:
    """A convolution; a number stands for the same number in every space dimension (and on both sides)."""
    space = len(x.shape) - 2
    attrs = {
        "stride": _each(stride, space),
        "padding": ((padding, padding),) * space if isinstance(padding, int) else tuple(padding),
        "dilation": _each(dilation, space),
        "groups": groups,
        "transposed": transposed,
        "output_padding": _each(output_padding, space),
    }
    return make("conv", (x, weight) if bias is None else (x, weight, bias), attrs)


def batch_norm(
    x: Node, mean: Node, var: Node, weight: Node | None = None, bias: Node | None = None, *, eps: float = 1e-5
) -> Node:
    affine = [n for n in (weight, bias) if n is not None]
    attrs = {"eps": eps, "has_weight": weight is not None, "has_bias": bias is not None}
    return make("batch_norm", (x, mean, var, *affine), attrs)


def layer_norm(x: Node, weight: Node | None = None, bias: Node | None = None, *, axes: int = 1, eps: float) -> Node:
    affine = [n for n in (weight, bias) if n is not None]
    attrs = {"axes": axes, "eps": eps, "has_weight": weight is not None, "has_bias": bias is not None}
    return make("layer_norm", (x, *affine), attrs)


def rms_norm(x: Node, weight: Node | None = None, *, axes: int = 1, eps: float, offset: float = 0.0) -> Node:
    attrs = {"axes": axes, "eps": eps, "has_weight": weight is not None, "offset": offset}
    return make("rms_norm", (x,) if weight is None else (x, weight), attrs)


def attention(
    q: Node, k: Node, v: Node, mask: Node | None = None, *, scale: float, causal: bool = False, gqa: bool = False
) -> Node:
    inputs = (q, k, v) if mask is None else (q, k, v, mask)
    return make("attention", inputs, {"scale": scale, "causal": causal, "gqa": gqa})


def _each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)
