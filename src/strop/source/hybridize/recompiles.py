"""Recompilations, predicted: state that every call changes, arguments that make a graph per value, compiling in loops.

Measured with PyTorch 2.13: an int attribute or global that a call increments, or a list that it appends to, fails its
guard at every call until the limit of eight; a float attribute, an int or float argument and a first other size cost
one more compilation; text, lengths of lists, and numbers that a `range` or a branch depends on cost one per value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard
from weakref import WeakKeyDictionary

from strop.source.facts import Place, Reason
from strop.source.hybridize.parameters import own_parameters
from strop.source.hybridize.syntax import guards_of, node_at, reaching
from strop.source.hybridize.torch_rules import (
    COMPILED_IN_LOOP,
    RECOMPILES_EVERY_CALL,
    RECOMPILES_PER_VALUE,
    VARYING_SHAPES,
)
from strop.source.interpret.events import Call, Write
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.queries import ParameterFacts
from strop.source.interpret.values import Const, Primitive, Tensor, Value
from strop.source.project.declarations import Code

_GROWING = ("append()", "extend()", "insert()", "pop()", "popleft()", "appendleft()", "add()", "clear()", "popitem()")
_found: WeakKeyDictionary[Program, dict[Code, tuple[Write, ...]]] = WeakKeyDictionary()
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def every_call(program: Program, id: str) -> list[Reason]:
    """State outside of a function that each call changes and the next call's guards look at."""
    found = []
    if not program.reaches(id, "torch state", lambda code: bool(_changes(program, code))):
        return []
    inside = {other for other, _ in program.reached(id)}
    for other, chain in reaching(program, id):
        for write in _changes(program, program.code(other)):
            held = [obj for obj in write.to.objects() if obj.kind in ("list", "set", "dict")] if write.to else []
            if held and all(obj.owner is not None and obj.owner.code.id in inside for obj in held):
                continue  # made during the call
            message = f"`{write.target}` changes at every call, so that the graph's guards fail at every call"
            found.append(Reason(RECOMPILES_EVERY_CALL, message, write.place, chain))
    return found


def _changes(program: Program, code: Code) -> tuple[Write, ...]:
    kept = _found.setdefault(program, {})
    if code not in kept:
        kept[code] = tuple(_counting(program, code))
    return kept[code]


def _counting(program: Program, code: Code) -> Iterator[Write]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)) or code.short == "__init__":
        return
    writes = [event for event in program.events(code.id) if isinstance(event, Write) and event.outside is True]
    if not writes:
        return
    augmented = {(n.lineno, n.target.col_offset) for n in code.walk() if isinstance(n, ast.AugAssign)}
    for event in writes:
        if guards_of(program, code).reached(event.place)[0] != "always":
            continue
        if event.kind == "method" and event.target in _GROWING and event.to is not None:
            if not _grows_local(program, code, event.place) and any(
                isinstance(a, Object) and a.kind in ("list", "set", "dict") for a in event.to.atoms
            ):
                yield event
        elif event.kind in ("attribute", "global", "nonlocal") and event.value is not None:
            counted = (event.place.line, event.place.column) in augmented
            if counted and event.value.only("int", "str", "bool"):
                yield event


def _grows_local(program: Program, code: Code, place: Place) -> bool:
    """`found.append(x)` where the function itself has made `found`, and `kwargs.pop("mask")`."""
    node = node_at(program, code, place)
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not isinstance(owner, ast.Name):
        return False
    kinds = {parameter.name: parameter.kind for parameter in code.parameters}
    if owner.id in kinds:
        return kinds[owner.id] in ("args", "kwargs")
    return owner.id in code.locals


def per_value(program: Program, id: str) -> list[Reason]:
    """Arguments of which each value makes a graph of its own."""
    code = program.code(id)
    found = []
    for name, parameter in own_parameters(program, id).items():
        if not parameter.called or not _varies(parameter) or _is_flag(parameter.value):
            continue
        if parameter.value.only("str") or _decides(code, name):
            place = next((flow.place for flow in parameter.flows if flow.value.atoms), code.place())
            message = f"`{name}` is {parameter.value.describe()}: every new value makes another graph"
            found.append(Reason(RECOMPILES_PER_VALUE, message, place))
    return found


def _is_flag(value: Value) -> bool:
    """True, False or nothing, as far as is known: two graphs at most."""
    plain = [atom.type for atom in value.atoms if isinstance(atom, (Const, Primitive))]
    return "bool" in plain and set(plain) <= {"bool", "NoneType"}


def numbers(program: Program, id: str) -> list[tuple[str, Place]]:
    """Number arguments that differ from call to call and only take part in arithmetic: one more compilation."""
    code = program.code(id)
    return [
        (name, parameter.flows[0].place)
        for name, parameter in own_parameters(program, id).items()
        if parameter.called and _varies(parameter) and parameter.value.only("int", "float") and not _decides(code, name)
    ]


def _varies(parameter: ParameterFacts) -> bool:
    """Whether calls pass different values: several constants, or one that is computed."""
    constants = {repr(c) for c in parameter.value.constants() if c is not None}
    return parameter.given and (len(constants) > 1 or any(isinstance(a, Primitive) for a in parameter.value.atoms))


def _decides(code: Code, name: str) -> bool:
    for node in code.walk():
        ranges = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
        if ranges and any(_is_name(part, name) for part in ast.walk(node)):
            return True
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and _asks_for_value(node.test, name):
            return True
    return False


_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _asks_for_value(test: ast.expr, name: str) -> bool:
    """Whether a condition asks for more than whether an argument is there: `x is None` makes two graphs at most."""
    if isinstance(test, ast.BoolOp):
        return any(_asks_for_value(part, name) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks_for_value(test.operand, name)
    if isinstance(test, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot, *_ORDERED)) for op in test.ops):
        return False  # numbers become symbols when they differ: a comparison makes two graphs at most, too
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in ("isinstance", "callable"):
        return False
    return not _is_name(test, name) and any(_is_name(part, name) for part in ast.walk(test))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def shapes(program: Program, id: str) -> list[Reason]:
    """Parameters that get tensors of different shapes from different calls."""
    found = []
    for name, parameter in own_parameters(program, id).items():
        known: dict[tuple[int | None, ...], Place] = {}
        for flow in parameter.flows:
            for shape in _shapes(flow.value):
                known.setdefault(shape, flow.place)
        if len(known) > 1:
            texts = " and ".join(str(list(shape)) for shape in list(known)[:3])
            found.append(Reason(VARYING_SHAPES, f"`{name}` has the shapes {texts}", list(known.values())[1]))
    return found


def _shapes(value: Value) -> list[tuple[int | None, ...]]:
    return [a.shape for a in value.atoms if isinstance(a, Tensor) and a.shape is not None and None not in a.shape]


def compiled_in_loops(program: Program, code: Code) -> list[Reason]:
    """Calls of `torch.compile` inside a loop, or inside a function that loops call."""
    found = []
    for event in program.events(code.id):
        if not isinstance(event, Call) or "torch.compile" not in event.targets or _is_decorator(code, event.place):
            continue
        node = node_at(program, code, event.place)
        if isinstance(node, ast.Call) and is_in_loop(code, event.place):
            if not _is_another(code, node, event.place):
                found.append(Reason(COMPILED_IN_LOOP, "`torch.compile` is called in a loop", event.place))
        elif not isinstance(code.node, ast.Module) and guards_of(program, code).reached(event.place)[0] == "always":
            for caller, place in program.callers(code.id):
                if is_in_loop(program.code(caller), place):
                    message = f"`torch.compile` is called whenever `{code.name}` is, and a loop calls that"
                    found.append(Reason(COMPILED_IN_LOOP, message, event.place, (place,)))
                    break
    return found


def _is_another(code: Code, call: ast.Call, place: Place) -> bool:
    """Whether each round of a loop compiles a thing of its own, `for block in blocks: … = torch.compile(block)`."""
    if any(isinstance(part, ast.Lambda) for part in call.args):
        return False  # one and the same code, made anew
    given = {n.id for part in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(part) if _is_load(n)}
    loops = [node for node in code.walk() if isinstance(node, _LOOPS) and _is_around(node, place)]
    bound = {n.id for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    results = {
        n.targets[0].id
        for n in code.walk()
        if isinstance(n, ast.Assign) and n.value is call and isinstance(n.targets[0], ast.Name)
    }
    return bool(given & (bound - results))


def _is_load(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _is_decorator(code: Code, place: Place) -> bool:
    for node in code.walk():
        for decorator in getattr(node, "decorator_list", ()):
            if decorator.lineno <= place.line <= decorator.end_lineno:
                return True
    return False


def is_in_loop(code: Code, place: Place) -> bool:
    """Whether a place runs once for every round of a loop of its function."""
    return any(isinstance(node, _LOOPS) and _is_around(node, place) for node in code.walk())


def _is_around(loop: ast.AST, place: Place) -> bool:
    first, last = getattr(loop, "lineno", 0), getattr(loop, "end_lineno", 0)
    return first <= place.line <= last and not _is_header(loop, place)


def _is_header(node: ast.AST, place: Place) -> bool:
    """What stands in `for … in HERE:` runs once."""
    if not isinstance(node, (ast.For, ast.AsyncFor)):
        return False
    return (
        (node.iter.lineno, node.iter.col_offset)
        <= (place.line, place.column)
        < (node.body[0].lineno, node.body[0].col_offset)
    )
