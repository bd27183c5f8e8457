"""Which operations of a function can run in one call of it."""

from __future__ import annotations

import ast

from strop.source.adopt.architecture import Node


def exclusive(one: Node, other: Node) -> bool:
    """Do two operations stand in different branches of one `if`, or are they what one call may mean?"""
    if one.code is not other.code or one.expression is None or other.expression is None:
        return False
    if one.expression is other.expression:
        return True
    lines = one.place.line, other.place.line
    for node in one.code.walk():
        if isinstance(node, ast.If) and node.orelse:
            inside = [_within(line, node.body) for line in lines], [_within(line, node.orelse) for line in lines]
            if (inside[0][0] and inside[1][1]) or (inside[0][1] and inside[1][0]):
                return True
    return False


def _within(line: int, body: list[ast.stmt]) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)
