"""The table of rules: one small function per ATen overload, each in the file of its family (`aten/*.py`).

    @aten("aten.relu.default")
    def relu(b: Builder, x: Node) -> Node:
        return b.unary("relu", x)

A rule gets the builder and every argument of the operator's schema in order, defaults filled in; tensors are nodes.
It returns a node, or a tuple where the operator has several results (None for one that was not asked for).
`raise Unfit(reason)` says that this form of the operator has no rule: then its decomposition is tried, then it becomes
a library node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from strop.core.extensions import Undo, put
from strop.graph.ir import Node

Result = Node | tuple[Node | None, ...]  # None: a result that nobody asked for
Rule = Callable[..., Result]

RULES: dict[str, Rule] = {}


class Unfit(Exception):
    """A rule does not cover this form of its operator; the message is the reason."""


class Whole(Unfit):
    """Torch's own kernel must answer, and not its decomposition: that one answers where the kernel refuses."""


R = TypeVar("R", bound=Rule)


def aten(*targets: str) -> Callable[[R], R]:
    """Register a rule for overloads: `aten("relu.default")`; without an overload's name, `.default` is meant."""

    def register(rule: R) -> R:
        for target in targets:
            name = f"aten.{target}" if "." in target else f"aten.{target}.default"
            if name in RULES:
                raise ValueError(f"two rules for {name}")
            RULES[name] = rule
        return rule

    return register


def add_rule(target: str, rule: Rule) -> Undo:
    """A rule for an operator of any library, by its whole name (`mylib.op.default`), and how to take it out."""
    return put(RULES, target, rule)


def rule_for(target: str) -> Rule | None:
    return RULES.get(target)


Scalar = int | float | bool
Operand = Node | Scalar
