"""Whether a graph is better left to eager: float16 and bfloat16 have no native code yet, only library calls.

A library call runs the same kernel as eager mode, so a program that consists mostly of library calls cannot be faster
than the original module. What both kinds of nodes do is compared by counting operations and bytes: nothing is timed, so
the same graph has the same answer everywhere.
"""

from __future__ import annotations

from math import prod

from strop.graph.ir import Graph, Node, Type
from strop.graph.operators import VIEWS

HALF = {"f16": "float16", "bf16": "bfloat16"}
#: native code that does less than this share of the work does not make up for what the library calls around it cost
LEAST_NATIVE = 0.25

_NO_WORK = frozenset(("input", "param", "constant", "full", "arange", "item", *VIEWS))
_PRODUCTS = {"linear": 0, "mm": 0, "bmm": 0, "matmul": 0, "addmm": 1, "baddbmm": 1}  # which input has the rows
_CONVOLUTIONS = ("conv", "conv1d", "conv2d", "conv3d", "convolution")
_ATTENTIONS = ("attention", "scaled_dot_product_attention")
_RECURRENT = ("lstm", "gru", "rnn", "rnn_tanh", "rnn_relu")


def reason_for_eager(graph: Graph) -> str:
    """Why native code for this graph would not pay; empty where it may."""
    half = native = 0
    dtypes: set[str] = set()
    for node in graph.nodes:
        if node.op in _NO_WORK:
            continue
        used = {t.dtype for t in (*node.types, *(t for i in node.inputs for t in i.types))} & HALF.keys()
        dtypes |= used
        if used:
            half += _work(node)
        elif node.op != "aten":
            native += _work(node)
    if not half or native >= LEAST_NATIVE * (half + native):
        return ""
    share = round(100 * half / (half + native))
    names = " and ".join(HALF[dtype] for dtype in sorted(dtypes))
    return f"{share}% of the work is in {names}, which has no native code yet: it would not be faster"


def _work(node: Node) -> int:
    """Operations and bytes: about as many of each per cycle as of the other."""
    touched = (t for i in node.inputs for t in i.types)
    return 2 * _multiply_adds(node) + sum(t.bytes for t in (*node.types, *touched))


def _multiply_adds(node: Node) -> int:
    kind = node.attrs["target"].split(".")[1] if node.op == "aten" else node.op
    inputs = [i.types[0] for i in node.inputs]
    if kind in _PRODUCTS:
        return node.types[0].size * inputs[_PRODUCTS[kind]].shape[-1]
    if kind in _CONVOLUTIONS:
        return _points(node, inputs[0]) * inputs[1].size
    if kind in _ATTENTIONS:
        return 2 * inputs[0].size * inputs[1].shape[-2]
    if kind in _RECURRENT:
        return prod(inputs[0].shape[:-1]) * sum(t.size for t in inputs[1:] if t.rank == 2)
    return 0


def _points(node: Node, x: Type) -> int:
    """How many times a convolution's filters are applied: per output point, per input point of a transposed one."""
    transposed = node.attrs["args"][6] if node.op == "aten" and len(node.attrs["args"]) > 6 else False
    shape = x.shape if node.attrs.get("transposed", transposed) is True else node.types[0].shape
    return shape[0] * prod(shape[2:])
