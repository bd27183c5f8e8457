"""Loops over tensors as calls on lists: `for p, q in zip(…): q.mul_(d).add_(p, alpha=1 - d)`.

A template `loop(first; second)` stands for the statements that take the place of the whole loop; what it says of the
loop's variables becomes lists over the same pairs. The loop must do nothing else, and go over `parameters()`: an
iterator that somebody made earlier can be used up, and a tensor that occurs twice would be updated twice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from strop.source.adopt.architecture import Match
from strop.source.adopt.synth_text import CannotWrite, Source
from strop.source.facts import Edit
from strop.source.project.declarations import walk

_PART = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class _Update:
    """`target = decay · target + rest · source`, as the source says the four."""

    target: ast.expr
    source: ast.expr
    decay: ast.expr
    rest: ast.expr


def replaced_loop(match: Match, source: Source) -> Edit:
    """The edit that puts the statements of a `loop(…)` template in the place of a loop."""
    loop = _loop_around(match)
    names = _variables(loop)
    update = _update_of(loop.body) if loop is not None and not loop.orelse else None
    if loop is None or update is None or names is None:
        raise CannotWrite("the loop does more, or is written in another way", match.place)
    if not _pairs_of_parameters(loop.iter):
        raise CannotWrite("it is not known that the loop goes over parameters, each once", match.place)
    factors = [update.decay, update.rest]
    if _mentions(factors, names) or any(isinstance(node, ast.Call) for node in walk(factors)):
        raise CannotWrite("the factors may change from turn to turn", match.place)
    sides = [_mentions([update.target], [name]) and _mentions([update.source], [other])
             for name, other in (names, names[::-1])]  # fmt: skip
    if sum(sides) != 1:
        raise CannotWrite("what is updated is not one of the pair", match.place)
    inside = {id(node) for node in walk([loop])}
    reads = (n for n in match.code.walk() if isinstance(n, ast.Name) and n.id in names and id(n) not in inside)
    if any(isinstance(read.ctx, ast.Load) for read in reads):
        raise CannotWrite("the loop's variables are read elsewhere", match.place)
    return _edit(match, source, loop, update)


def _edit(match: Match, source: Source, loop: ast.For, update: _Update) -> Edit:
    pairs, number = "pairs", 2
    while pairs in match.code.locals | match.code.reads:
        pairs, number = f"pairs_{number}", number + 1
    over = f"for {source.segment(loop.target)} in {pairs}]"
    said = {
        "q": f"[{source.segment(update.target)} {over}",
        "p": f"[{source.segment(update.source)} {over}",
        "decay": source.segment(update.decay),
        "rest": source.segment(update.rest),
    }
    template = match.rule.use[0][1].removeprefix("loop(").removesuffix(")")
    lines = [f"{pairs} = list({source.segment(loop.iter)})"]
    lines += [_PART.sub(lambda part: said[part[1]], statement.strip()) for statement in template.split(";")]
    return Edit(match.code.place(loop), f"\n{source.indent(loop)}".join(lines))


def _loop_around(match: Match) -> ast.For | None:
    statement = match.root.statement
    loops = [n for n in match.code.walk() if isinstance(n, ast.For) and any(one is statement for one in n.body)]
    return loops[0] if loops else None


def _variables(loop: ast.For | None) -> list[str] | None:
    if loop is None or not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) != 2:
        return None
    names = [one.id for one in loop.target.elts if isinstance(one, ast.Name)]
    return names if len(set(names)) == 2 else None


def _pairs_of_parameters(iterable: ast.expr) -> bool:
    """`zip(a.parameters(), b.parameters())`"""
    if not isinstance(iterable, ast.Call) or getattr(iterable.func, "id", "") != "zip" or len(iterable.args) != 2:
        return False
    return not iterable.keywords and all(_method(one) == "parameters" and not one.args for one in iterable.args)  # type: ignore[attr-defined]


def _mentions(expressions: Sequence[ast.expr], names: Sequence[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in walk(expressions))


def _update_of(body: Sequence[ast.stmt]) -> _Update | None:
    if len(body) == 2:
        return _in_two_steps(body[0], body[1])
    if len(body) != 1:
        return None
    statement = body[0]
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        is_data = isinstance(target, ast.Attribute) and target.attr == "data"
        return _sum(statement.value, target) if is_data else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return None
    if call.func.attr == "copy_" and len(call.args) == 1 and not call.keywords:
        return _sum(call.args[0], call.func.value)
    first = call.func.value
    if call.func.attr != "add_" or not isinstance(first, ast.Call) or _method(first) != "mul_" or len(first.args) != 1:
        return None
    return _added(call, first.func.value, first.args[0])  # type: ignore[attr-defined]


def _in_two_steps(first: ast.stmt, second: ast.stmt) -> _Update | None:
    """`q.mul_(d)` and then `q.add_(p, alpha=1 - d)`."""
    calls = [one.value for one in (first, second) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    if len(calls) != 2 or [_method(one) for one in calls] != ["mul_", "add_"] or len(calls[0].args) != 1:
        return None
    targets = [one.func.value for one in calls]  # type: ignore[attr-defined]
    return _added(calls[1], targets[0], calls[0].args[0]) if _same(*targets) else None


def _added(call: ast.Call, target: ast.expr, decay: ast.expr) -> _Update | None:
    if len(call.args) != 1:
        return None
    if len(call.keywords) == 1 and call.keywords[0].arg == "alpha":
        return _Update(target, call.args[0], decay, call.keywords[0].value)
    product = call.args[0]
    if call.keywords or not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    source, rest = _factors(product)
    return _Update(target, source, decay, rest)


def _sum(value: ast.expr, target: ast.expr) -> _Update | None:
    """`d * q + (1 - d) * p`"""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    products = [one for one in (value.left, value.right) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)]
    if len(products) != 2:
        return None
    for own, other in (products, products[::-1]):
        for tensor, factor in ((own.left, own.right), (own.right, own.left)):
            if _same(tensor, target):
                source, rest = _factors(other)
                return _Update(target, source, factor, rest)
    return None


def _factors(product: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    """The tensor and the number: a number is a constant, a difference, or what has no attribute `data`."""
    left, right = product.left, product.right
    is_data = [getattr(one, "attr", "") == "data" for one in (left, right)]
    number_first = isinstance(left, (ast.Constant, ast.BinOp)) or is_data == [False, True]
    return (right, left) if number_first else (left, right)


def _method(node: ast.expr) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)
