"""Loops that a graph would unroll: as many rounds as a tensor of the input is long.

Dynamo runs Python loops while it traces, so a loop over time steps or frames becomes as many copies of its body, anew
for every length. Compiling such a function takes minutes; what is worth compiling is the body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.breaks import along
from strop.source.hybridize.syntax import guards_of, reaching, span
from strop.source.hybridize.torch_worth import event_estimate
from strop.source.interpret.events import Call, Iteration
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code

_LARGE = 4.0  #: units of a body that is worth a graph by itself
_ARITHMETIC = ("int", "min", "max", "round", "abs", "ceil", "floor")
_PARTS = ("unbind", "split")  #: as many as the tensor is long
_unrolled: WeakKeyDictionary[Program, dict[tuple[Code, str], bool]] = WeakKeyDictionary()


def is_unrolled(program: Program, id: str, target: str) -> bool:
    """Whether a function, or something that it calls whatever its arguments are, runs a loop over a tensor's length."""
    if _unrolls(program, program.code(id), target):
        return True
    return any(
        _unrolls(program, program.code(other), target) and along(program, chain)[0] == "always"
        for other, chain in reaching(program, id)
        if chain
    )


def _unrolls(program: Program, code: Code, target: str) -> bool:
    kept = _unrolled.setdefault(program, {})
    key = code, target
    if key not in kept:
        kept[key] = any(_work(program, code, loop, target) > _LARGE for loop in _loops(program, code))
    return kept[key]


def _work(program: Program, code: Code, loop: ast.For, target: str) -> float:
    """The units of one round."""
    first, last = loop.body[0].lineno, loop.end_lineno or loop.lineno
    calls = [e for e in program.events(code.id) if isinstance(e, Call) and first <= e.place.line <= last]
    return sum(event_estimate(program, event, target).eager for event in calls)


def _loops(program: Program, code: Code) -> Iterator[ast.For]:
    """The loops of a function that are always reached and run over the length of a tensor."""
    loops = [node for node in code.own() if isinstance(node, ast.For)]
    if not loops:
        return
    sizes = _sizes(code)
    tensors = {span(e.place) for e in program.events(code.id) if isinstance(e, Iteration) and e.over.only_tensors()}
    for loop in loops:
        place: Place = code.place(loop.iter)
        if not (_is_long(loop.iter, sizes) or span(place) in tensors):
            continue
        if guards_of(program, code).reached(place)[0] == "always":
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
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


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
