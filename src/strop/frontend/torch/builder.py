"""Making nodes: every operator's result type is derived here from its inputs, and trivial nodes never come to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from strop.core.dtypes import is_float
from strop.frontend.torch.registry import Whole
from strop.graph.ir import NOWHERE, Node, Origin, Type

#: operators whose inputs are all of one dtype
UNIFORM = frozenset(
    (
        "linear",
        "matmul",
        "conv",
        "layer_norm",
        "rms_norm",
        "group_norm",
        "batch_norm",
        "lstm",
        "gru",
        "rnn",
        "recurrence",
        "recurrence_backward",
    )
)


@dataclass(frozen=True)
class OperatorCall:
    """The operator call that is being converted: what torch says that it yields, and which results are used."""

    target: str = ""
    types: tuple[Type, ...] = ()
    used: frozenset[int] = frozenset()
    values: tuple[Any, ...] = ()  # the arguments as torch's fake tensors, for rules that look at strides

    @property
    def dtype(self) -> str:
        return self.types[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.types[0].shape


class Builder:
    """Makes nodes with unique names under the current origin. `call` is the operator call being converted; `mask`
    draws a bool tensor, each element true with a probability, as eager mode does for the call's first argument."""

    def __init__(self, mask: Callable[[float], Node]) -> None:
        self.call = OperatorCall()
        self.mask = mask
        self.origin = NOWHERE
        self.lines: tuple[Origin, ...] = ()  # torch's own, where the user has none
        self.made: list[Node] | None = None  # what has been made since somebody wanted to know
        self._names: dict[str, int] = {}

    @contextmanager
    def converting(self, call: OperatorCall) -> Iterator[None]:
        before, self.call = self.call, call
        try:
            yield
        finally:
            self.call = before

    def unique(self, base: str) -> str:
        count = self._names.get(base, 0) + 1
        self._names[base] = count
        return base if count == 1 else f"{base}_{count}"

    def node(self, op: str, inputs: Sequence[Node], *types: Type, **attrs: Any) -> Node:
        if op in UNIFORM and any(node.dtype != inputs[0].dtype for node in inputs):
            raise Whole(f"inputs of {' and '.join(dict.fromkeys(node.dtype for node in inputs))}")
        base = f"{self.origin.module}.{op}" if self.origin.module else op
        made = Node(op, tuple(inputs), attrs, types, self.unique(base), self.origin, self.lines)
        if self.made is not None:
            self.made.append(made)
        return made

    def leaf(self, op: str, type: Type, name: str, origin: Origin = NOWHERE, **attrs: Any) -> Node:
        return Node(op, (), attrs, (type,), self.unique(name), origin)

    # leaves

    def full(self, value: Any, dtype: str, shape: Sequence[int] = ()) -> Node:
        return self.node("full", (), Type(dtype, tuple(shape)), value=_as(value, dtype))

    def arange(self, extent: int, start: float = 0, step: float = 1, dtype: str = "i64") -> Node:
        return self.node("arange", (), Type(dtype, (extent,)), start=_as(start, dtype), step=_as(step, dtype))

    # pointwise

    def cast(self, x: Node, dtype: str) -> Node:
        if x.dtype == dtype:
            return x
        if x.op == "full":
            return self.full(x.attrs["value"], dtype, x.shape)
        return self.node("cast", (x,), Type(dtype, x.shape))

    def operand(self, x: Node | float, dtype: str) -> Node:
        """A tensor or a Python number as a tensor of `dtype`."""
        return self.cast(x, dtype) if isinstance(x, Node) else self.full(x, dtype)

    def unary(self, op: str, x: Node, **attrs: Any) -> Node:
        return self.node(op, (x,), x.type, **attrs)

    def binary(self, op: str, a: Node | float, b: Node | float) -> Node:
        """Both of one dtype already, or one of them a number."""
        left, right = self._pair(a, b)
        return self.node(op, (left, right), Type(left.dtype, broadcast(left.shape, right.shape)))

    def compare(self, op: str, a: Node | float, b: Node | float) -> Node:
        left, right = self._pair(a, b)
        return self.node(op, (left, right), Type("bool", broadcast(left.shape, right.shape)))

    def where(self, condition: Node, a: Node | float, b: Node | float) -> Node:
        left, right = self._pair(a, b)
        shape = broadcast(condition.shape, left.shape, right.shape)
        return self.node("where", (condition, left, right), Type(left.dtype, shape))

    def add(self, a: Node | float, b: Node | float) -> Node:
        return self.binary("add", a, b)

    def sub(self, a: Node | float, b: Node | float) -> Node:
        return self.binary("sub", a, b)

    def mul(self, a: Node | float, b: Node | float) -> Node:
        return self.binary("mul", a, b)

    def div(self, a: Node | float, b: Node | float) -> Node:
        return self.binary("div", a, b)

    def _pair(self, a: Node | float, b: Node | float) -> tuple[Node, Node]:
        kind = a if isinstance(a, Node) else b
        if not isinstance(kind, Node):
            raise TypeError("at least one operand must be a node")
        left = a if isinstance(a, Node) else self.full(a, kind.dtype)
        right = b if isinstance(b, Node) else self.full(b, kind.dtype)
        if left.dtype != right.dtype:
            raise TypeError(f"operands of {left.dtype} and {right.dtype}")
        return left, right

    # views

    def reshape(self, x: Node, shape: Sequence[int]) -> Node:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if x.op == "reshape":
            return self.reshape(x.inputs[0], shape)
        if x.op == "full":
            return self.full(x.attrs["value"], x.dtype, shape)
        return self.node("reshape", (x,), Type(x.dtype, shape))

    def permute(self, x: Node, dims: Sequence[int]) -> Node:
        if list(dims) == list(range(x.type.rank)):
            return x
        if x.op == "permute":
            inner = x.attrs["dims"]
            return self.permute(x.inputs[0], [inner[d] for d in dims])
        shape = tuple(x.shape[d] for d in dims)
        moved = [d for d in dims if x.shape[d] != 1]
        if moved == sorted(moved):
            return self.reshape(x, shape)
        real = [d for d, extent in enumerate(x.shape) if extent != 1]
        if x.op == "reshape" and x.inputs[0].shape == tuple(x.shape[d] for d in real):
            return self.reshape(self.permute(x.inputs[0], [real.index(d) for d in moved]), shape)
        return self.node("permute", (x,), Type(x.dtype, shape), dims=tuple(dims))

    def swap(self, x: Node, a: int, b: int) -> Node:
        dims = list(range(x.type.rank))
        dims[a], dims[b] = dims[b], dims[a]
        return self.permute(x, dims)

    def expand(self, x: Node, shape: Sequence[int]) -> Node:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if x.op == "full":
            return self.full(x.attrs["value"], x.dtype, shape)
        if x.op == "expand":
            return self.expand(x.inputs[0], shape)
        return self.node("expand", (x,), Type(x.dtype, shape))

    def slice(self, x: Node, dim: int, start: int, stop: int, step: int = 1) -> Node:
        """`x[start:stop:step]` along `dim`; bounds as Python's, already non-negative."""
        extent = len(range(start, min(stop, x.shape[dim]), step))
        if start == 0 and step == 1 and extent == x.shape[dim]:
            return x
        if extent == 0:
            start = 0
        shape = (*x.shape[:dim], extent, *x.shape[dim + 1 :])
        return self.node("slice", (x,), Type(x.dtype, shape), dim=dim, start=start, step=step)

    def select(self, x: Node, dim: int, index: int) -> Node:
        shape = (*x.shape[:dim], *x.shape[dim + 1 :])
        if x.shape[dim] == 1:
            return self.reshape(x, shape)
        return self.node("select", (x,), Type(x.dtype, shape), dim=dim, index=index)

    def unsqueeze(self, x: Node, dim: int) -> Node:
        return self.reshape(x, (*x.shape[:dim], 1, *x.shape[dim:]))

    # putting together

    def cat(self, parts: Sequence[Node], dim: int) -> Node:
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        extent = sum(part.shape[dim] for part in parts)
        shape = (*first.shape[:dim], extent, *first.shape[dim + 1 :])
        return self.node("cat", parts, Type(first.dtype, shape), dim=dim)

    def pad(self, x: Node, pads: Sequence[tuple[int, int]], mode: str = "constant", value: float = 0) -> Node:
        if not any(before or after for before, after in pads):
            return x
        shape = tuple(extent + before + after for extent, (before, after) in zip(x.shape, pads))
        pads = tuple((int(before), int(after)) for before, after in pads)
        return self.node("pad", (x,), Type(x.dtype, shape), pads=pads, mode=mode, value=_as(value, x.dtype))

    # reductions

    def reduce(self, op: str, x: Node, dims: Sequence[int], keepdim: bool = False, **attrs: Any) -> Node:
        dims = tuple(sorted(dims))
        if keepdim:
            shape = tuple(1 if d in dims else extent for d, extent in enumerate(x.shape))
        else:
            shape = tuple(extent for d, extent in enumerate(x.shape) if d not in dims)
        dtype = "bool" if op in ("any", "all") else x.dtype
        return self.node(op, (x,), Type(dtype, shape), dims=dims, keepdim=bool(keepdim), **attrs)

    # contractions

    def linear(self, x: Node, weight: Node, bias: Node | None = None) -> Node:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        return self.node("linear", inputs, Type(x.dtype, (*x.shape[:-1], weight.shape[0])))

    def matmul(self, a: Node, b: Node) -> Node:
        """Both at least 2-d. A transposed 2-d right side makes it a `linear`."""
        weight = transposed(b)
        if weight is not None:
            return self.linear(a, weight)
        batch = broadcast(a.shape[:-2], b.shape[:-2])
        return self.node("matmul", (a, b), Type(a.dtype, (*batch, a.shape[-2], b.shape[-1])))


def transposed(x: Node) -> Node | None:
    """What a 2-d tensor is the transpose of (of a single row or column that is a reshape)."""
    turned = x.op in ("permute", "reshape") and x.inputs[0].shape == x.shape[::-1]
    return x.inputs[0] if x.type.rank == 2 and turned and (x.op == "permute" or 1 in x.shape) else None


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for extents in zip(*padded):
        stretched = {extent for extent in extents if extent != 1}
        if len(stretched) > 1:
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        result.append(stretched.pop() if stretched else 1)
    return tuple(result)


def _as(value: Any, dtype: str) -> Any:
    """A number as the dtype holds it."""
    if dtype == "bool":
        return bool(value)
    if is_float(dtype):
        return float(value)
    return value if dtype.startswith("c") else int(value)
