"""The vocabulary in which the rules of this folder are written: patterns, numbers, and a few questions about nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from strop.core.rewrite import Dialect, Var
from strop.graph.ir import NOWHERE, Graph, Node

#: a + b and b + a are the same number, bit for bit
COMMUTATIVE = frozenset(("add", "mul", "maximum", "minimum", "and", "or", "xor", "eq", "ne"))

#: operators whose result is not a function of inputs and attributes alone
IMPURE = frozenset(("aten",))


def number_of(node: Node) -> Any:
    """The number that every element of a node equals, if the graph says so."""
    return node.attrs["value"] if node.op == "full" else None


def adopt(new: Node, old: Node) -> Node:
    """`new` with the name and origin of `old` where it has none of its own."""
    if new.name:
        return new
    return replace(new, name=old.name, origin=old.origin if new.origin == NOWHERE else new.origin)


P = Dialect(COMMUTATIVE, number_of, adopt)
x, y, z = Var("x"), Var("y"), Var("z")

_PARAMETRIC: WeakKeyDictionary[Node, bool] = WeakKeyDictionary()


def is_parametric(node: Node) -> bool:
    """Whether a value depends on parameters and constants only, so that it can be computed before any call."""
    stack = [node]
    while stack:
        top = stack[-1]
        if top in _PARAMETRIC:
            stack.pop()
            continue
        if top.op == "input" or top.op in IMPURE:
            _PARAMETRIC[stack.pop()] = False
            continue
        unknown = [i for i in top.inputs if i not in _PARAMETRIC]
        if unknown:
            stack.extend(unknown)
            continue
        _PARAMETRIC[stack.pop()] = all(_PARAMETRIC[i] for i in top.inputs)
    return _PARAMETRIC[node]


def depends_only_on_params(graph: Graph) -> frozenset[Node]:
    """The nodes that a parameter program can compute ahead of calls; not those that the graph itself writes."""
    written = {target for target, _ in graph.mutations}
    known: set[Node] = set()
    for node in graph.nodes:
        if node.op == "input" or node.op in IMPURE or node in written:
            continue
        if all(i in known for i in node.inputs):
            known.add(node)
    return frozenset(known)


def parametric(name: str) -> Var:
    return Var(name, is_parametric)


def channel_vector(node: Node, rank: int, dim: int, channels: int) -> bool:
    """Whether `node`, broadcast against a tensor of `rank`, varies along `dim` only, with one value per channel."""
    aligned = (1,) * (rank - len(node.shape)) + node.shape
    return len(aligned) == rank and all(e == (channels if i == dim else 1) for i, e in enumerate(aligned))
