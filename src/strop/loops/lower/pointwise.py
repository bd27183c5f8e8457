"""Pointwise operators: one expression per element."""

from __future__ import annotations

from collections.abc import Callable

from strop.graph.ir import Node
from strop.graph.operators import BINARY, COMPARE, UNARY
from strop.loops.index import Index
from strop.loops.ir import Apply, Const, Expr, Nest, Number
from strop.loops.lower import Context, lowering, store

Formula = Callable[[Node, Expr], Expr]
ACTIVATIONS: dict[str, Formula] = {}


def apply(op: str, *args: Expr) -> Expr:
    """A function of values of one dtype; comparisons give bool."""
    dtype = "bool" if op in COMPARE or op in ("isnan", "isinf") else args[-1].dtype
    return Apply(op, args, dtype)


def like(x: Expr, value: float) -> Const:
    return Const(value if x.dtype in ("f32", "f64") else int(value), x.dtype)


def cast(x: Expr, dtype: str) -> Expr:
    return x if x.dtype == dtype else Apply("cast", (x,), dtype)


def broadcast(node: Node, which: int, index: tuple[Index, ...]) -> tuple[Index, ...]:
    """The index into input `which` for element `index` of a broadcasting node."""
    shape = node.inputs[which].shape
    aligned = index[len(index) - len(shape) :]
    return tuple(part if extent != 1 else Index() for part, extent in zip(aligned, shape))


def formula(op: str) -> Callable[[Formula], Formula]:
    def register(function: Formula) -> Formula:
        ACTIVATIONS[op] = function
        return function

    return register


@lowering(*UNARY, *BINARY, *COMPARE, "where", "cast")
def pointwise(c: Context) -> list[Nest]:
    loops = c.loops("i", c.node.shape)
    index = tuple(Index(((loop.var, 1),)) if loop.extent != 1 else Index() for loop in loops)
    args = tuple(c.read(k, *broadcast(c.node, k, index)) for k in range(len(c.node.inputs)))
    if c.node.op == "cast":
        value = cast(args[0], c.dtype)
    else:
        value = Apply(c.node.op, args, c.dtype)
    return [c.nest(loops, store(c.out, loops, value))]


@lowering("full")
def full(c: Context) -> list[Nest]:
    loops = c.loops("i", c.node.shape)
    return [c.nest(loops, store(c.out, loops, Const(c.node.attrs["value"], c.dtype)))]


@lowering("arange")
def arange(c: Context) -> list[Nest]:
    loops = c.loops("i", c.node.shape)
    start, step = c.node.attrs["start"], c.node.attrs["step"]
    index = Index(((loops[0].var, 1),)) if loops[0].extent != 1 else Index()
    if c.dtype in ("i32", "i64"):
        value: Expr = Number(index * int(step) + int(start), c.dtype)
    else:
        value = apply(
            "add", apply("mul", Number(index, c.dtype), Const(float(step), c.dtype)), Const(float(start), c.dtype)
        )
    return [c.nest(loops, store(c.out, loops, value))]


def _activation(c: Context) -> list[Nest]:
    loops = c.loops("i", c.node.shape)
    value = ACTIVATIONS[c.node.op](c.node, c.read(0, *loops))
    return [c.nest(loops, store(c.out, loops, value))]


@formula("relu")
def relu(node: Node, x: Expr) -> Expr:
    return apply("maximum", x, like(x, 0.0))


@formula("gelu")
def gelu(node: Node, x: Expr) -> Expr:
    return apply("gelu_tanh" if node.attrs.get("approximate", "none") == "tanh" else "gelu", x)


@formula("silu")
def silu(node: Node, x: Expr) -> Expr:
    return apply("silu", x)


def _clamped_shift(x: Expr) -> Expr:
    six = apply("minimum", apply("maximum", apply("add", x, like(x, 3.0)), like(x, 0.0)), like(x, 6.0))
    return apply("div", six, like(x, 6.0))


@formula("hardsigmoid")
def hardsigmoid(node: Node, x: Expr) -> Expr:
    return _clamped_shift(x)


@formula("hardswish")
def hardswish(node: Node, x: Expr) -> Expr:
    return apply("mul", x, _clamped_shift(x))


@formula("softplus")
def softplus(node: Node, x: Expr) -> Expr:
    beta, threshold = node.attrs["beta"], node.attrs["threshold"]
    scaled = apply("mul", x, like(x, beta))
    soft = apply("div", apply("softplus", scaled), like(x, beta))
    return Apply("where", (apply("gt", scaled, like(x, threshold)), x, soft), x.dtype)


@formula("mish")
def mish(node: Node, x: Expr) -> Expr:
    return apply("mish", x)


@formula("elu")
def elu(node: Node, x: Expr) -> Expr:
    alpha, scale, inside = node.attrs["alpha"], node.attrs["scale"], node.attrs["input_scale"]
    below = apply("mul", like(x, alpha * scale), apply("expm1", apply("mul", x, like(x, inside))))
    return Apply("where", (apply("gt", x, like(x, 0.0)), apply("mul", x, like(x, scale)), below), x.dtype)


@formula("leaky_relu")
def leaky_relu(node: Node, x: Expr) -> Expr:
    return Apply("where", (apply("gt", x, like(x, 0.0)), x, apply("mul", x, like(x, node.attrs["slope"]))), x.dtype)


for _op in ACTIVATIONS:
    lowering(_op)(_activation)
