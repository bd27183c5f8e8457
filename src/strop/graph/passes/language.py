"""The vocabulary in which the rules of this folder are written: patterns, numbers, and a few questions about nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from strop.core.patterns import Dialect, PatternVar
from strop.graph.ir import NOWHERE, Node
from strop.graph.parametric import is_parametric

#: a + b and b + a are the same number, bit for bit
COMMUTATIVE = frozenset(("add", "mul", "maximum", "minimum", "and", "or", "xor", "eq", "ne"))


def number_of(node: Node) -> Any:
    """The number that every element of a node equals, if the graph says so."""
    return node.attrs["value"] if node.op == "full" else None


def adopt(new: Node, old: Node, swallowed: Sequence[Node] = ()) -> Node:
    """`new` with the name and origin of `old` where it has none, and the lines of what it has `swallowed`."""
    if not new.name:
        new = replace(new, name=old.name, origin=old.origin if new.origin == NOWHERE else new.origin)
    lines = dict.fromkeys(line for node in (new, *swallowed) for line in node.origins if line != new.origin)
    return new if tuple(lines) == new.absorbed else replace(new, absorbed=tuple(lines))


P = Dialect(COMMUTATIVE, number_of, adopt)
x, y, z = PatternVar("x"), PatternVar("y"), PatternVar("z")


def parametric(name: str) -> PatternVar:
    return PatternVar(name, is_parametric)


def channel_vector(node: Node, rank: int, dim: int, channels: int) -> bool:
    """Whether `node`, broadcast against a tensor of `rank`, varies along `dim` only, with one value per channel."""
    aligned = (1,) * (rank - len(node.shape)) + node.shape
    return len(aligned) == rank and all(e == (channels if i == dim else 1) for i, e in enumerate(aligned))
