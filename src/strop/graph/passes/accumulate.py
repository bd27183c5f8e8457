"""Rows that are added up in a tensor of zeros, which is then added to another, are added to the other tensor itself.

The gradient of an embedding is such a sum, and its weight may be used elsewhere too.

Sums are the same up to the order of additions, and up to the sign of zeros to which no row is added.
"""

from __future__ import annotations

from dataclasses import replace

from strop.core.passes import Verdict
from strop.core.patterns import Bind
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.language import P, number_of, x


def _into(x: Node, put: Node) -> Node:
    return build.make("index_put", (x, *put.inputs[1:]), put.attrs)


def _adds_to_zeros(match: Match, root: Node, x: Node, put: Node) -> Verdict | bool:
    if not put.attrs["accumulate"] or number_of(put.inputs[0]) != 0 or not root.type == x.type == put.type:
        return False
    return replace(match, interior=(put,)).alone()


rules = Rules(
    Rule("x + rows added to zeros → rows added to x", P.add(x, Bind("put", P.op("index_put", ...))), _into,
         _adds_to_zeros),
)  # fmt: skip
