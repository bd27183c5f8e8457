"""Whether a graph is better left to eager: float16 and bfloat16 have no native code yet, only library calls.

A library call runs the same kernel as eager mode, so a program that consists mostly of library calls cannot be faster
than the original module. What both kinds of nodes do is compared by counting operations and bytes: nothing is timed, so
the same graph has the same answer everywhere.
"""

from __future__ import annotations

from strop.graph.ir import Graph, Node
from strop.graph.operators import VIEWS
from strop.graph.work import bytes_moved, multiply_adds

HALF = {"f16": "float16", "bf16": "bfloat16"}
#: native code that does less than this share of the work does not make up for what the library calls around it cost
LEAST_NATIVE = 0.25

_NO_WORK = frozenset(("input", "param", "constant", "full", "arange", "item", *VIEWS))


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
    return 2 * multiply_adds(node) + bytes_moved(node)
