"""Loops that a graph would unroll: as many rounds as a tensor of the input is long.

Dynamo runs Python loops while it traces, so a loop over time steps or frames becomes as many copies of its body, anew
for every length. Compiling such a function takes minutes; what is worth compiling is the body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.guards import Guards
from strop.source.hybridize.syntax import guards_of, span
from strop.source.hybridize.torch_worth import event_estimate
from strop.source.interpret.events import Call, Iteration
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code, walk

_LARGE = 2.0  #: units of a body that would fill a graph with its copies
_ARITHMETIC = ("int", "min", "max", "round", "abs", "ceil", "floor")
_BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
_PARTS = ("unbind", "split")  #: as many as the tensor is long
_unrolled: WeakKeyDictionary[Program, dict[tuple[Code, str], bool]] = WeakKeyDictionary()


def is_unrolled(program: Program, id: str, target: str) -> bool:
    """Whether a function, or something that it calls whatever its arguments are, runs a loop over a tensor's length."""
    return _unrolls(program, program.code(id), target)


def _unrolls(program: Program, code: Code, target: str) -> bool:
    kept = _unrolled.setdefault(program, {})
    key = code, target
    if key not in kept:
        kept[key] = False  # against circles
        if isinstance(code.node, (ast.Module, ast.ClassDef)):
            return False
        at = [(place.line, place.column) for place in _unrolling(program, code, target)]
        kept[key] = bool(at) and _is_passed(guards_of(program, code), code.body, at)
    return kept[key]


def _unrolling(program: Program, code: Code, target: str) -> Iterator[Place]:
    """Where a function unrolls a loop: its own, or one of a function that it calls there."""
    for loop in _loops(program, code):
        if _work(program, code, loop, target) > _LARGE:
            yield code.place(loop.iter)
    for event in program.events(code.id):
        if isinstance(event, Call) and any(_unrolls(program, program.code(id), target) for id in event.functions):
            yield event.place


def _is_passed(guards: Guards, body: list[ast.stmt], at: list[tuple[int, int]]) -> bool:
    """Whether every way through some statements comes by one of these positions."""
    for statement in body:
        inside = [one for one in at if _contains(statement, one)]
        if not inside:
            continue
        if isinstance(statement, ast.If):
            truth = guards.truth(statement.test)
            ways = [*([statement.body] if truth != "never" else []), *([statement.orelse] if truth != "always" else [])]
            if any(_contains(statement.test, one) for one in inside) or all(
                _is_passed(guards, w, inside) for w in ways
            ):
                return True
        elif isinstance(statement, ast.Try):
            if _is_passed(guards, statement.body, inside):
                return True
        elif isinstance(statement, _BLOCKS):
            walked = any(all(not _contains(s, one) for s in statement.body) for one in inside)
            if walked or _is_passed(guards, statement.body, inside):
                return True
        elif _is_passed_within(statement, inside):
            return True
    return False


def _is_passed_within(node: ast.AST, at: list[tuple[int, int]]) -> bool:
    """The same of an expression: one of `a if c else b` needs both."""
    inside = [one for one in at if _contains(node, one)]
    for choice in (inner for inner in walk([node]) if isinstance(inner, ast.IfExp)):
        if _is_passed_within(choice.body, inside) and _is_passed_within(choice.orelse, inside):
            return True
        inside = [one for one in inside if not _contains(choice.body, one) and not _contains(choice.orelse, one)]
    return bool(inside)


def _contains(node: ast.AST, at: tuple[int, int]) -> bool:
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return bool(first <= at < last)


def _work(program: Program, code: Code, loop: ast.For, target: str) -> float:
    """The units of one round."""
    first, last = loop.body[0].lineno, loop.end_lineno or loop.lineno
    calls = [e for e in program.events(code.id) if isinstance(e, Call) and first <= e.place.line <= last]
    return sum(event_estimate(program, event, target).eager for event in calls)


def _loops(program: Program, code: Code) -> Iterator[ast.For]:
    """The loops of a function that run over the length of a tensor."""
    loops = [node for node in code.own() if isinstance(node, ast.For)]
    if not loops:
        return
    sizes = _sizes(code)
    tensors = {span(e.place) for e in program.events(code.id) if isinstance(e, Iteration) and e.over.only_tensors()}
    for loop in loops:
        place: Place = code.place(loop.iter)
        if _is_long(loop.iter, sizes) or span(place) in tensors:
            yield loop


def _is_long(node: ast.expr, sizes: set[str]) -> bool:
    """`range(x.shape[1])`, `x.unbind(1)`, and these inside of `zip`, `enumerate` and their like."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "range":
        return any(_is_size(argument, sizes) for argument in node.args)
    if name in _PARTS and isinstance(node.func, ast.Attribute):
        return True
    return name in ("zip", "enumerate", "reversed", "tqdm") and any(_is_long(a, sizes) for a in node.args)


def _sizes(code: Code) -> set[str]:
    """Variables that hold a length of a tensor, or a number that is computed from one."""
    found: set[str] = set()
    grown = True
    while grown:
        grown = False
        for node in code.own():
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names = set(_assigned(target, node.value, found))
                    grown = grown or not names <= found
                    found |= names
    return found


def _assigned(target: ast.expr, value: ast.expr, sizes: set[str]) -> Iterator[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts):
            yield from _assigned(one, other, sizes)
    elif _is_size(value, sizes):
        yield from (node.id for node in walk([target]) if isinstance(node, ast.Name))


def _is_size(node: ast.expr, sizes: set[str]) -> bool:
    """`x.shape[0]`, `x.size(1)`, and arithmetic on these."""
    if isinstance(node, ast.Name):
        return node.id in sizes
    if isinstance(node, ast.Attribute):
        return node.attr == "shape"
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return _is_size(node.value, sizes)
    if isinstance(node, ast.BinOp):
        return _is_size(node.left, sizes) or _is_size(node.right, sizes)
    if isinstance(node, ast.UnaryOp):
        return _is_size(node.operand, sizes)
    if isinstance(node, ast.IfExp):
        return _is_size(node.body, sizes) or _is_size(node.orelse, sizes)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return True
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _ARITHMETIC and any(_is_size(argument, sizes) for argument in node.args)
