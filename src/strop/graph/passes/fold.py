"""Constant folding: what is known while compiling is computed while compiling, with NumPy's arithmetic.

Only small results become `constant`s. A function of an `arange` is cheaper as an index expression than as a table,
so those stay as they are unless the result is an `arange` again, or tiny.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf, erfc
from typing import Any

import numpy as np
import numpy.typing as npt

from strop.core.dtypes import is_float, is_integer
from strop.core.patterns import PatternVar
from strop.core.rewrite import Rule, Rules
from strop.graph import build
from strop.graph.ir import Node, Type
from strop.graph.operators import COMPARE, VIEWS
from strop.graph.passes.language import P, number_of

Array = npt.NDArray[Any]

DTYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip

#: a folded table has at most this many elements, and one that would replace an `arange` at most so few
SMALL, TINY = 256, 16

POINTWISE: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a),
    "reciprocal": lambda a: 1 / a, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": np.vectorize(erf, otypes=[np.float64]), "erfc": np.vectorize(erfc, otypes=[np.float64]),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "floor": np.floor, "ceil": np.ceil, "round": np.round,
    "trunc": np.trunc, "not": np.invert, "isnan": np.isnan, "isinf": np.isinf,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.mod, "fmod": np.fmod, "pow": np.power, "atan2": np.arctan2,
    "maximum": np.maximum, "minimum": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "copysign": np.copysign, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "where": np.where,
    "relu": lambda a: np.maximum(a, np.zeros((), a.dtype)),
}  # fmt: skip

#: on integers these raise, or have no answer, for some operands
PARTIAL = frozenset(("floordiv", "mod", "fmod", "div", "pow", "reciprocal"))

LEAVES = frozenset(("full", "constant", "arange"))
FOLDABLE = frozenset((*POINTWISE, *VIEWS, "cast", "cat"))
#: what `value_of` computes besides, to look at masks
COMPUTABLE = FOLDABLE | {"index", "cumsum", "any", "all"}


def value_of(node: Node, limit: int = SMALL) -> Array | None:
    """The elements of a node that depends on constants only, if no step has more than `limit` of them."""
    known: dict[Node, Array | None] = {}
    return _value(node, limit, known)


def _value(node: Node, limit: int, known: dict[Node, Array | None]) -> Array | None:
    if node not in known:
        known[node] = _compute(node, limit, known)
    return known[node]


def _compute(node: Node, limit: int, known: dict[Node, Array | None]) -> Array | None:
    if len(node.types) != 1 or node.dtype not in DTYPES or node.type.size > limit:
        return None
    if node.op in LEAVES:
        return _leaf(node, node.shape)
    if node.op not in COMPUTABLE:
        return None
    inputs = []
    for used in node.inputs:
        value = _value(used, limit, known)
        if value is None:
            return None
        inputs.append(value)
    return _apply(node, inputs, node.shape)


def _leaf(node: Node, shape: Sequence[int]) -> Array | None:
    dtype = DTYPES[node.dtype]
    try:
        if node.op == "full":
            return np.full(shape, node.attrs["value"], dtype)
        if node.op == "arange":
            count = np.arange(node.shape[0], dtype=np.float64 if is_float(node.dtype) else np.int64)
            return np.asarray(node.attrs["start"] + count * node.attrs["step"]).astype(dtype)
        return np.asarray(node.attrs["values"], dtype).reshape(shape)
    except (OverflowError, ValueError, TypeError):
        return None


def _apply(node: Node, inputs: list[Array], shape: Sequence[int]) -> Array | None:
    """One operator on arrays; None where eager would raise, or where the answer depends on the machine."""
    dtype = DTYPES[node.dtype]
    with np.errstate(all="ignore"):
        if node.op == "cast":
            return _cast(inputs[0], dtype)
        if node.op == "cat":
            return np.concatenate(inputs, axis=node.attrs["dim"])
        if node.op in VIEWS:
            return _view(node, inputs[0], shape)
        if node.op not in POINTWISE:
            return _gathered(node, inputs)
        if node.op in PARTIAL and not is_float(node.inputs[-1].dtype):
            return None
        result: Array = np.asarray(POINTWISE[node.op](*inputs))
    return np.broadcast_to(result.astype(dtype), tuple(shape))


def _cast(array: Array, dtype: Any) -> Array | None:
    if np.issubdtype(array.dtype, np.floating) and np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        if not np.all(np.isfinite(array)) or np.any(array < bounds.min) or np.any(array >= float(bounds.max)):
            return None
    return array.astype(dtype)


def _gathered(node: Node, inputs: list[Array]) -> Array | None:
    array, *indices = inputs
    if node.op == "cumsum":
        return np.cumsum(array, axis=node.attrs["dim"], dtype=DTYPES[node.dtype])
    if node.op in ("any", "all"):
        over = tuple(node.attrs["dims"]) or None
        found = (np.any if node.op == "any" else np.all)(array != 0, axis=over, keepdims=node.attrs["keepdim"])
        return np.asarray(found)
    try:
        return np.asarray(array[(slice(None),) * node.attrs["dims"][0] + tuple(indices)])
    except IndexError:
        return None


def _view(node: Node, array: Array, shape: Sequence[int]) -> Array | None:
    attrs = node.attrs
    if node.op == "reshape":
        return np.reshape(array, tuple(shape))
    if node.op == "permute":
        return np.transpose(array, attrs["dims"])
    if node.op == "expand":
        return np.broadcast_to(array, tuple(shape))
    if node.op == "select":
        return np.asarray(np.take(array, attrs["index"], axis=attrs["dim"]))
    if node.op == "flip":
        return np.flip(array, attrs["dims"])
    if node.op == "slice":
        dim, start, step = attrs["dim"], attrs["start"], attrs["step"]
        positions = start + step * np.arange(shape[dim])
        return np.asarray(np.take(array, positions, axis=dim))
    return None


def _one_value(array: Array) -> Any | None:
    """The element that all others equal bit for bit (so that -0.0 is not 0.0, and NaN is itself)."""
    flat = np.ascontiguousarray(array).reshape(-1)
    same = flat.size > 0 and flat.tobytes() == flat[:1].tobytes() * flat.size
    return flat[0].item() if same else None


def _node(array: Array, type: Type) -> Node:
    number = _one_value(array)
    if number is not None:
        return build.full(number, type.dtype, type.shape)
    return build.constant(tuple(array.reshape(-1).tolist()), type.dtype, type.shape)


def _uniform(root: Node) -> Node | None:
    """A function of numbers is a number, however many elements it is spread over."""
    if root.dtype not in DTYPES or (root.op == "cat" and len({repr(number_of(i)) for i in root.inputs}) > 1):
        return None
    if root.op in VIEWS or root.op == "cat":
        return build.full(number_of(root.inputs[0]), root.dtype, root.shape)
    inputs = [_leaf(i, ()) if i.dtype in DTYPES else None for i in root.inputs]
    if any(i is None for i in inputs):
        return None
    result = _apply(root, [i for i in inputs if i is not None], ())
    return None if result is None else build.full(result.item(), root.dtype, root.shape)


def _small(root: Node) -> Node | None:
    array = value_of(root)
    return None if array is None else _node(array, root.type)


def _is_uniform(root: Node) -> bool:
    return all(i.op == "full" for i in root.inputs)


def _is_small(root: Node) -> bool:
    limit = TINY if any(i.op == "arange" for i in root.inputs) else SMALL
    return root.type.size <= limit and all(i.op in LEAVES for i in root.inputs)


def _same_everywhere(root: Node) -> Node | None:
    array = value_of(root, limit=1 << 16)
    number = _one_value(array) if array is not None else None
    return None if number is None else build.full(number, root.dtype, root.shape)


def _shifted(a: Node, c: int, root: Node) -> Node:
    return build.arange(root.shape[0], root.dtype, a.attrs["start"] + c, a.attrs["step"])


def _stretched(a: Node, c: int, root: Node) -> Node:
    return build.arange(root.shape[0], root.dtype, a.attrs["start"] * c, a.attrs["step"] * c)


def _sliced(a: Node, root: Node) -> Node:
    start = a.attrs["start"] + root.attrs["start"] * a.attrs["step"]
    return build.arange(root.shape[0], root.dtype, start, a.attrs["step"] * root.attrs["step"])


def _stays_one_row(a: Node, root: Node) -> bool:
    return root.shape == a.shape


integers = PatternVar("a", lambda node: node.op == "arange" and is_integer(node.dtype))

rules = Rules(
    Rule("a constant with equal elements → full", P.constant(), _same_everywhere),
    Rule("a comparison that holds everywhere or nowhere → full", P.op(COMPARE, ...), _same_everywhere),
    Rule("arange + c → arange", P.add(integers, P.number("c")), _shifted, _stays_one_row),
    Rule("arange · c → arange", P.mul(integers, P.number("c")), _stretched, _stays_one_row),
    Rule("slice of arange → arange", P.slice(integers), _sliced),
    Rule("fold numbers", P.op(FOLDABLE, ...), _uniform, _is_uniform),
    Rule("fold small constants", P.op(FOLDABLE, ...), _small, _is_small),
)
