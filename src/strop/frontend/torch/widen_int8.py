"""Operators on bytes: those that only move elements stay as they are, arithmetic is done in i32 and wraps.

add(u8, u8)   →   cast(add(cast(u8 → i32), cast(u8 → i32)) → u8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from strop.core.dtypes import BYTES, NATIVE
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit
from strop.graph.ir import Node, Type
from strop.graph.operators import BINARY, COMPARE, MOVING, UNARY

#: what gives the same on i32, as long as the result is cut to its lowest bits
WIDENED = frozenset((*UNARY, *BINARY, *COMPARE, "relu", "amax", "amin", "max_pool"))


def widened(b: Builder, result: Any, made: Sequence[Node]) -> Any:
    """The result of a rule that made these nodes, without arithmetic on bytes; Unfit where that can't be."""
    work = _Widening(b, frozenset(made))
    return tuple(map(work.new, result)) if isinstance(result, tuple) else work.new(result)


class _Widening:
    def __init__(self, b: Builder, made: frozenset[Node]) -> None:
        self.b = b
        self.made = made
        self.known: dict[Node, Node] = {}

    def new(self, node: Node) -> Node:
        if node not in self.made:
            return node
        if node not in self.known:
            self.known[node] = self._rebuilt(node)
        return self.known[node]

    def _rebuilt(self, node: Node) -> Node:
        inputs = tuple(map(self.new, node.inputs))
        dtypes = {type.dtype for each in (node, *inputs) for type in each.types} - set(NATIVE)
        if not dtypes or (node.op in MOVING and dtypes <= set(BYTES)):
            return replace(node, inputs=inputs) if inputs != node.inputs else node
        if node.op not in WIDENED or not dtypes <= set(BYTES) or len(node.types) > 1:
            raise Unfit(f"`{node.op}` has no native code for {', '.join(sorted(dtypes))}")
        wide = [self.b.cast(each, "i32") if each.dtype in BYTES else each for each in inputs]
        kind = Type("i32" if node.dtype in BYTES else node.dtype, node.shape)
        computed = replace(node, inputs=tuple(wide), types=(kind,))
        return self.b.cast(computed, node.dtype)
