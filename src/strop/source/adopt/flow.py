"""Where values go: from projections to the attention that uses them."""

from __future__ import annotations

import re

from strop.source.adopt.architecture import Node
from strop.source.adopt.operations import GROUPS

_LIMIT = 300  #: nodes that are looked at
_OWN_MODULES = re.compile(r"(?i)norm|rotary|rope|embed|identity|dropout|scal")
_ATTENTION = re.compile(r"(?i)atte?n|sdpa")
_BETWEEN = GROUPS["steps"] | {"view", "cast", "contiguous", "clone", "phi", "flatten", "unsqueeze", "squeeze", "expand"}


def attention_of(projections: list[Node]) -> Node | None:
    """The call or product in which query, key and value come together as attention, if they do."""
    reached = [_reached(node) for node in projections]
    for node in reached[0]:
        if _is_attention_call(node) and all(node in other for other in reached[1:]):
            return node
    for scores in reached[0]:
        if scores.kind not in ("matmul", "einsum"):
            continue
        present = [scores in other for other in reached]
        if sum(present) < 2:
            continue
        mixed = _mixed(scores)
        for product in mixed:
            if all(product in other or here for other, here in zip(reached, present)):
                return product
    return None


def _reached(start: Node) -> dict[Node, None]:
    """Products and calls that a projection's result reaches, reshaped, normalised or rotated, but not mixed."""
    found: dict[Node, None] = {}
    seen = {start}
    todo = [start]
    while todo and len(seen) < _LIMIT:
        node = todo.pop(0)
        for user in node.users:
            if user in seen:
                continue
            seen.add(user)
            if user.kind in ("attention", "matmul", "einsum", "call", "module"):
                found[user] = None
            if user.kind in ("attention", "linear", "softmax", "matmul", "einsum"):
                continue
            if user.kind == "module" and not _OWN_MODULES.search(_made_by(user)):
                continue
            if user.kind in ("add", "sub") and _mixes(user, node):
                continue
            todo.append(user)
    return found


def _mixes(sum_: Node, own: Node) -> bool:
    """Does a sum add what another projection gave?"""
    for other in sum_.inputs:
        if other is own:
            continue
        todo, seen = [other], {other}
        foreign = False
        while todo and len(seen) < 40:
            node = todo.pop()
            if node.kind == "linear":
                foreign = True
                continue
            new = [one for one in node.inputs if one not in seen]
            seen.update(new)
            todo += new
        if foreign and not _share_projection(other, own):
            return True
    return False


def _share_projection(one: Node, other: Node) -> bool:
    return bool(_projections(one) & _projections(other))


def _projections(node: Node) -> set[Node]:
    found, todo, seen = set(), [node], {node}
    while todo and len(seen) < 40:
        one = todo.pop()
        if one.kind == "linear":
            found.add(one)
            continue
        new = [inner for inner in one.inputs if inner not in seen]
        seen.update(new)
        todo += new
    return found


def _mixed(scores: Node) -> list[Node]:
    """The products behind the softmax of scores."""
    found = []
    todo, seen = [(scores, False)], {(scores, False)}
    while todo and len(seen) < _LIMIT:
        node, soft = todo.pop(0)
        for user in node.users:
            if soft and user.kind in ("matmul", "einsum"):
                found.append(user)
                continue
            after = soft or user.kind == "softmax"
            if (user.kind in _BETWEEN or user.kind == "softmax") and (user, after) not in seen:
                seen.add((user, after))
                todo.append((user, after))
    return found


def _is_attention_call(node: Node) -> bool:
    named = node.kind in ("call", "module") and _ATTENTION.search(f"{node.text} {_made_by(node)}")
    return node.kind == "attention" or bool(named)


def _made_by(node: Node) -> str:
    return node.definition.made_by if node.definition is not None else ""
