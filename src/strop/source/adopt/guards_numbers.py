"""Checks of numbers that a model keeps: weights that add up to 1, the root of a width.

`self.confidence = 1.0 - smoothing` is looked up where the constructor assigns it; what cannot be read is not believed.
"""

from __future__ import annotations

import ast

from strop.source.adopt.architecture import Match, Node
from strop.source.adopt.guards import guard
from strop.source.project.declarations import Class, walk


@guard
def complement(match: Match, one: str, other: str) -> str:
    """Two numbers add up to 1: constants, or `1 - x` and `x`, also as attributes that the constructor sets."""
    pair = [_said(match, match.bound[name]) for name in (one, other) if name in match.bound]
    if len(pair) == 2 and (_is_rest(pair[0], pair[1]) or _is_rest(pair[1], pair[0]) or _add_up(pair[0], pair[1])):
        return ""
    return f"`{one}` and `{other}` are not known to add up to 1"


@guard
def root_of_width(match: Match, scale: str, weight: str) -> str:
    """`scale` is the square root of the size with which the parameter was made."""
    number, parameter = match.bound.get(scale), match.bound.get(weight)
    if number is None or parameter is None:
        return ""
    rooted = _rooted(_said(match, number))
    size = _size(parameter)
    same = rooted is not None and size is not None and ast.dump(rooted) == ast.dump(size)
    return "" if same else f"`{scale}` is not known to be the root of the width"


@guard
def absent(match: Match, name: str, text: str) -> str:
    """This part of the pattern is not there; the text says what is assumed otherwise."""
    return text if name in match.bound else ""


@guard
def never(match: Match, text: str) -> str:
    """Says no, with this text: an assumption that every match rests on."""
    return text


def _said(match: Match, node: Node) -> ast.expr | None:
    """A number as the source says it; attributes of `self` as the constructor sets them."""
    if node.kind == "const" and isinstance(node.value, (int, float)) and not node.text.startswith("self."):
        return ast.Constant(node.value)
    expression = node.expression
    if node.kind == "symbol" and isinstance(expression, ast.Attribute):
        return _assigned(match.graph.cls, expression.attr) or expression
    if node.kind in ("symbol", "input"):
        try:
            return ast.parse(node.text, mode="eval").body
        except SyntaxError:
            return None
    if node.kind == "const" and isinstance(expression, ast.Attribute):
        return _assigned(match.graph.cls, expression.attr) or ast.Constant(node.value)
    return expression if isinstance(expression, ast.BinOp) else None


def _assigned(cls: Class | None, name: str) -> ast.expr | None:
    """What a class assigns to an attribute, if it does so once."""
    if cls is None:
        return None
    found = [
        node.value
        for node in walk(cls.node.body)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) and t.attr == name for t in node.targets)
    ]
    return found[0] if len(found) == 1 else None


def _is_rest(one: ast.expr | None, other: ast.expr | None) -> bool:
    """`1 - x` beside `x`."""
    if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Sub) or other is None:
        return False
    return isinstance(one.left, ast.Constant) and one.left.value == 1 and ast.dump(one.right) == ast.dump(other)


def _add_up(one: ast.expr | None, other: ast.expr | None) -> bool:
    if not isinstance(one, ast.Constant) or not isinstance(other, ast.Constant):
        return False
    numbers = one.value, other.value
    return all(isinstance(n, (int, float)) for n in numbers) and abs(sum(numbers) - 1) < 1e-9  # type: ignore[arg-type]


def _rooted(expression: ast.expr | None) -> ast.expr | None:
    """x of `x ** 0.5`, `math.sqrt(x)`."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Pow):
        half = expression.right
        return expression.left if isinstance(half, ast.Constant) and half.value == 0.5 else None
    if isinstance(expression, ast.Call) and len(expression.args) == 1:
        function = expression.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return expression.args[0] if name == "sqrt" else None
    return None


def _size(parameter: Node) -> ast.expr | None:
    """n of `nn.Parameter(torch.ones(n))`."""
    call = parameter.definition.call if parameter.definition is not None else None
    inner = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return inner.args[0] if isinstance(inner, ast.Call) and len(inner.args) == 1 else None
