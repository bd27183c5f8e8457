"""Group norms as exporters to ONNX write them: an instance norm over regrouped channels, then scale and shift.

reshape(group_norm(reshape(x)), x's shape)·w + b      → group_norm(x, w, b)
"""

from __future__ import annotations

from typing import Any

from strop.core.passes import Verdict, no
from strop.core.patterns import Bind, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.language import P, channel_vector, number_of, x

n, w = PatternVar("n"), PatternVar("w")
_PLAIN = {"has_weight": False, "has_bias": False}


def _idle_when(n: Node) -> bool:
    """A scale of ones and a shift of zeros."""
    weight, bias = n.inputs[1], n.inputs[2]
    return bool(number_of(weight) == 1 and number_of(bias) == 0)


def _without(n: Node) -> Node:
    return build.make("group_norm", n.inputs[:1], {**n.attrs, **_PLAIN})


def _regrouped_when(x: Node, n: Node, root: Node) -> Verdict | bool:
    """Each group of the inner norm has to be a run of whole channels of x."""
    groups: Any = n.attrs["groups"]
    if root.shape != x.shape or len(x.shape) < 3 or n.shape[0] != x.shape[0] or n.shape[1] != groups:
        return no("the groups of the inner norm are not groups of the tensor's channels")
    return bool(x.shape[1] % groups == 0)


def _on_channels(x: Node, n: Node) -> Node:
    return build.make("group_norm", (x,), dict(n.attrs))


def _per_channel_when(match: Match, n: Node, w: Node, root: Node) -> Verdict | bool:
    rank = len(n.shape)
    return root.shape == n.shape and channel_vector(w, rank, 1, n.shape[1]) and match.alone()


def _vector(n: Node, w: Node) -> Node:
    return build.reshape(w, (n.shape[1],))


def _with_weight(n: Node, w: Node) -> Node:
    return build.make("group_norm", (n.inputs[0], _vector(n, w)), {**n.attrs, "has_weight": True})


def _with_bias(n: Node, w: Node) -> Node:
    return build.make("group_norm", (*n.inputs, _vector(n, w)), {**n.attrs, "has_bias": True})


rules = Rules(
    Rule("group norm·1 + 0 → group norm",
         Bind("n", P.group_norm(x, ..., has_weight=True, has_bias=True)), _without, _idle_when),
    Rule("a norm of regrouped channels → group norm",
         P.reshape(Bind("n", P.group_norm(P.reshape(x), **_PLAIN))), _on_channels, _regrouped_when),
    Rule("group norm·w → its weight", P.mul(Bind("n", P.group_norm(x, **_PLAIN)), w), _with_weight, _per_channel_when),
    Rule("group norm + b → its bias",
         P.add(Bind("n", P.group_norm(x, ..., has_weight=True, has_bias=False)), w), _with_bias, _per_channel_when),
)  # fmt: skip
