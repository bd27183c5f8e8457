"""What a node of the operator graph takes, in cycles of one core: a rough estimate, before there are nests.

Products are bound by multiply-adds, everything else by the bytes that it moves or by the functions that it evaluates.
"""

from __future__ import annotations

from strop.graph.ir import Node
from strop.graph.operators import POINTWISE, VIEWS
from strop.graph.work import bytes_moved, multiply_adds
from strop.target.description import Target

#: the share of peak that products reach, and library calls with them
_EFFICIENCY = 0.7
#: cycles for a vector of results
_PLAIN, _FUNCTION = 0.5, 12.0
_FUNCTIONS = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "pow", "atan2", "gelu", "silu", "softplus",
    "mish", "elu", "softmax", "log_softmax",
))  # fmt: skip
_FREE = frozenset(("input", "param", "constant", "full", "arange", "item", *VIEWS))


def is_fused(node: Node) -> bool:
    """Whether it is computed where it is read, as a rule, so that its result needs no memory."""
    return node.op in POINTWISE or node.op in _FREE


def compute_cycles(node: Node, target: Target) -> float:
    """What its arithmetic takes."""
    if node.op in _FREE:
        return 0.0
    lanes = target.lanes("f32")
    products = multiply_adds(node) / (target.fma_per_cycle * lanes * _EFFICIENCY)
    per_vector = _FUNCTION if node.op in _FUNCTIONS else _PLAIN
    return products + per_vector * sum(t.size for t in node.types) / lanes


def cycles(node: Node, target: Target, bandwidth: float) -> float:
    """What it takes with what it reads and writes, at so many bytes a cycle; what is fused moves nothing."""
    moved = 0 if is_fused(node) else bytes_moved(node)
    return compute_cycles(node, target) + moved / bandwidth
