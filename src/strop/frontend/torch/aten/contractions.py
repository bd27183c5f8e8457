"""Contractions: linear, matmul and its many spellings."""

from __future__ import annotations

from strop.frontend.torch.builder import Builder, transposed
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node


@aten("linear")
def linear(b: Builder, x: Node, weight: Node, bias: Node | None = None) -> Node:
    if weight.type.rank == 1:
        return matmul(b, x, weight)
    return b.linear(x, weight, bias)


@aten("mm", "bmm")
def mm(b: Builder, x: Node, y: Node) -> Node:
    _arithmetic(x)
    return b.matmul(x, y)


@aten("matmul", "linalg_matmul")
def matmul(b: Builder, x: Node, y: Node) -> Node:
    """1-d sides gain a dimension that the result loses again."""
    _arithmetic(x)
    left = b.reshape(x, (1, x.shape[0])) if x.type.rank == 1 else x
    right = b.reshape(y, (y.shape[0], 1)) if y.type.rank == 1 else y
    return b.reshape(b.matmul(left, right), b.call.shape)


@aten("mv")
def mv(b: Builder, x: Node, y: Node) -> Node:
    return matmul(b, x, y)


@aten("dot", "vdot")
def dot(b: Builder, x: Node, y: Node) -> Node:
    return matmul(b, x, y)


@aten("addmm")
def addmm(b: Builder, bias: Node, x: Node, y: Node, beta: float = 1, alpha: float = 1) -> Node:
    """With a transposed right side and a row to add, this is `linear`."""
    _arithmetic(x)
    weight = transposed(y)
    if weight is not None and bias.shape == (y.shape[1],) and beta == 1 and alpha == 1:
        return b.linear(x, weight, bias)
    return _plus(b, bias, b.matmul(x, y), beta, alpha)


@aten("baddbmm")
def baddbmm(b: Builder, bias: Node, x: Node, y: Node, beta: float = 1, alpha: float = 1) -> Node:
    _arithmetic(x)
    return _plus(b, bias, b.matmul(x, y), beta, alpha)


@aten("addbmm")
def addbmm(b: Builder, bias: Node, x: Node, y: Node, beta: float = 1, alpha: float = 1) -> Node:
    _arithmetic(x)
    return _plus(b, bias, b.reduce("sum", b.matmul(x, y), (0,)), beta, alpha)


@aten("addmv")
def addmv(b: Builder, bias: Node, x: Node, y: Node, beta: float = 1, alpha: float = 1) -> Node:
    return _plus(b, bias, matmul(b, x, y), beta, alpha)


@aten("addr")
def addr(b: Builder, bias: Node, x: Node, y: Node, beta: float = 1, alpha: float = 1) -> Node:
    _arithmetic(x)
    dtype = b.call.dtype
    product = b.mul(b.reshape(b.cast(x, dtype), (x.shape[0], 1)), b.cast(y, dtype))
    return _plus(b, bias, product, beta, alpha)


def _plus(b: Builder, bias: Node, product: Node, beta: float, alpha: float) -> Node:
    """beta·bias + alpha·product; with beta = 0 the bias is not read at all, NaN or not."""
    scaled = product if alpha == 1 else b.mul(product, alpha)
    if beta == 0:
        return b.expand(scaled, b.call.shape)
    bias = b.cast(bias, product.dtype)
    return b.add(bias if beta == 1 else b.mul(bias, beta), scaled)


def _arithmetic(x: Node) -> None:
    if x.dtype == "bool":
        raise Unfit("a product of booleans")
