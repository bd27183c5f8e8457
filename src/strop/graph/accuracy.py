"""Which values must be accurate element by element, and which only relative to their neighbours.

A direct sum has an error that is small beside its own terms. Winograd's convolution has one that is small beside the
largest element of its tile: a small element next to a large one keeps fewer digits. Whether that matters is decided by
what the value flows into.

    log(conv(x) + 1e-6)      small elements decide the result: conv must be a direct sum
    sigmoid(conv(x))         an absolute error stays as small as it was: either will do
    log(softmax(conv(x)))    softmax has absorbed it: either will do
    return conv(x)           the caller may take the logarithm

`needs(graph)` walks from the results to the inputs. Every operand of every operator either asks for small elements
itself, passes on what is asked of its result, or absorbs it. What is not known here asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strop.core.dtypes import is_integer
from strop.graph.ir import Graph, Node
from strop.graph.operators import COMPARE

#: a comparison with a constant at least this far from zero does not depend on small elements
FAR_FROM_ZERO = 1e-3

#: small elements decide the result, or its derivative has no bound near zero (for every operand); listed so that a test
#: can tell what asks on purpose from what nobody has thought of
ASK = frozenset((
    "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sign", "floor", "ceil", "floordiv", "truncdiv",
    "mod", "fmod", "atan2", "asin", "acos", "acosh", "atanh", "walk_trees", "attention_backward",
    "recurrence", "recurrence_backward", "linear_cross_entropy", "linear_cross_entropy_backward",
))  # fmt: skip
#: an absolute error of the operand stays small beside the result, or beside what eager itself gets wrong there
ABSORB = frozenset((
    "sigmoid", "hardsigmoid", "exp", "exp2", "softplus", "softmax", "log_softmax", "layer_norm", "group_norm",
    "rms_norm", "var", "argmax", "argmin", "max_pool_indices", "isnan", "isinf", "lstm", "gru", "rnn",
))  # fmt: skip
#: values move, are scaled or added: as they are given out, so are small elements
LINEAR = frozenset((
    "add", "sub", "mul", "neg", "abs", "where", "cast", "reshape", "permute", "expand", "slice", "select", "flip",
    "diagonal", "unfold", "cat", "pad", "index", "gather", "item", "sum", "mean", "batch_norm",
))  # fmt: skip
#: errors stay as large as they are, beside what is large
PASS = LINEAR | frozenset((
    "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "round", "trunc", "maximum",
    "minimum", "relu", "gelu", "silu", "hardswish", "mish", "elu", "leaky_relu", "prod", "amax", "amin", "cumsum",
    "cumprod", "index_put", "scatter", "embedding", "linear", "matmul", "conv", "conv_weight_grad", "byte_linear",
    "byte_conv", "byte_lstm", "max_pool", "max_pool_backward", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool",
    "upsample_nearest", "upsample_linear", "grid_sample",
))  # fmt: skip
#: library nodes that only move, choose or blend elements
_MOVING_LIBRARY = (
    "sort", "topk", "kthvalue", "max_pool", "upsample", "grid_sampler", "native_dropout", "dropout", "roi_align",
    "nms", "unique", "masked_select", "repeat_interleave", "fold", "im2col", "col2im", "_to_copy", "clone",
)  # fmt: skip


@dataclass(frozen=True)
class Need:
    """Why a value must be accurate element by element; what it is handed to as it is, or far behind it."""

    why: str
    handed_out: bool = False  # the caller gets it with nothing but moves, sums and factors in between


def needs(graph: Graph) -> Mapping[Node, Need]:
    """The values that must be accurate element by element, each with a reason."""
    found: dict[Node, Need] = {}
    for result in graph.roots:
        found[result] = Need("the caller gets it as it is", handed_out=True)
    for node in reversed(graph.nodes):
        own = found.get(node)
        for position, operand in enumerate(node.inputs):
            need = _asked(node, position, own)
            if need is not None and (operand not in found or found[operand].handed_out):
                found[operand] = need
    return found


def _asked(node: Node, position: int, own: Need | None) -> Need | None:
    """What a node asks of one of its operands, when so much is asked of its own result."""
    kind = _kind(node, position)
    if kind == "asks":
        return Need(f"{_call(node)} depends on small elements")
    if kind == "absorbs" or own is None:
        return None
    return own if not own.handed_out or node.op in LINEAR or node.op == "div" else None


def _kind(node: Node, position: int) -> str:
    """asks, passes or absorbs"""
    op = node.op
    if all(is_integer(one.dtype) or one.dtype == "bool" for one in node.inputs[position].types):
        return "absorbs"  # whole numbers are exact
    if op == "div":
        return "asks" if position == 1 else "passes"
    if op == "pow":
        return "passes" if position == 1 or _is_whole_power(node.inputs[1]) else "asks"
    if op == "copysign":
        return "asks" if position == 1 else "passes"
    if op in COMPARE:
        return "absorbs" if _is_far_from_zero(node.inputs[1 - position]) else "asks"
    if op == "cast" and node.dtype == "bool":
        return "asks"
    if op in ("sum", "mean") and _is_square(node.inputs[0]):
        return "absorbs"  # a norm that was written out
    if op in ("attention", "attention_forward"):
        return "passes" if position == 2 else "absorbs"
    if op == "batch_norm":
        return "asks" if position == 2 else "passes"
    if op == "aten":
        name = str(node.attrs["target"]).removeprefix("aten.")
        return "passes" if name.startswith(_MOVING_LIBRARY) else "asks"
    if op in ABSORB:
        return "absorbs"
    return "passes" if op in PASS else "asks"


def _call(node: Node) -> str:
    what = str(node.attrs["target"]) if node.op == "aten" else node.op
    return f"`{what}` of {node.name}"


def _is_square(node: Node) -> bool:
    if node.op == "mul":
        return node.inputs[0] is node.inputs[1]
    return node.op == "pow" and _constant(node.inputs[1]) == 2


def _is_whole_power(node: Node) -> bool:
    value = _constant(node)
    return value is not None and value >= 1 and value == int(value)


def _is_far_from_zero(node: Node) -> bool:
    value = _constant(node)
    return value is not None and abs(value) >= FAR_FROM_ZERO


def _constant(node: Node) -> float | None:
    """The one number that a value consists of, where it does."""
    while node.op in ("expand", "reshape", "cast"):
        node = node.inputs[0]
    if node.op == "full":
        return float(node.attrs["value"])
    if node.op != "constant":
        return None
    values = set(_flat(node.attrs["values"]))
    return float(values.pop()) if len(values) == 1 else None


def _flat(values: object) -> list[float]:
    if isinstance(values, tuple | list):
        return [one for part in values for one in _flat(part)]
    return [float(values)]  # type: ignore[arg-type]
