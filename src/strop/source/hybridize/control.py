"""Branches and loops on tensors: what AutoGraph makes operations of, and what must hold for it to succeed.

An operation for a branch is traced on both sides, one for a loop once: a `raise` in there fires while the graph is
traced, whatever the tensor says. Both sides, and every round, must give each variable the same dtype, structure and
shape, and Python numbers that are set in there become tensors. Where the analysis cannot show that, it says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from strop.source.facts import Place
from strop.source.hybridize.syntax import value_of
from strop.source.interpret.events import Branch, Call, Event, Iteration, Write
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Value
from strop.source.project.declarations import Code

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_CONTAINERS = ("list", "dict", "set")
_FILLING = (".append", ".extend", ".insert", ".update", ".add")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def raised(code: Code, events: Sequence[Event]) -> Iterator[Place]:
    """`raise` statements that only a tensor guards: they fire in every trace."""
    for node in code.own():
        parts = _controlled(node, events, certain=True)
        for part in parts:
            for inner in _within(part):
                if isinstance(inner, ast.Raise):
                    yield code.place(inner)


def control(program: Program, code: Code, events: Sequence[Event]) -> Iterator[str]:
    """What must hold of the function's own branches and loops."""
    for node in code.own():
        if not _controlled(node, events, certain=False):
            continue
        if isinstance(node, ast.If):
            yield from _branch(program, code, node, events)
        elif isinstance(node, (ast.While, ast.For)):
            yield from _loop(code, node, events)
        elif isinstance(node, ast.IfExp):
            if not _same_dtype([value_of(program, code, node.body), value_of(program, code, node.orelse)]):
                yield f"both values of the expression at {code.place(node)}, which a tensor decides, are of one dtype"
        elif isinstance(node, ast.Assert):
            yield f"the tensor in the `assert` at {code.place(node)} is never false: a graph raises another error"
        elif isinstance(node, ast.BoolOp):
            values = [value_of(program, code, part) for part in node.values]
            if not _same_dtype(values) or any(t.dtype != "bool" for v in values if v is not None for t in v.tensors()):
                yield f"`{ast.unparse(node)}` at {code.place(node)} joins truth values: in a graph it is an operation"
        elif isinstance(node, ast.comprehension):
            yield f"the tensor that decides in the comprehension at {code.place(node.iter)} has a value in a trace"


def _controlled(node: ast.AST, events: Sequence[Event], *, certain: bool) -> list[Sequence[ast.AST]]:
    """The parts of a statement that a tensor decides on; none for other statements."""
    if isinstance(node, ast.If):
        return [node.body, node.orelse] if _asks(node.test, events, certain) else []
    if isinstance(node, ast.While):
        return [node.body, node.orelse] if _asks(node.test, events, certain) else []
    if isinstance(node, ast.For):
        return [node.body, node.orelse] if _walks(node.iter, events, certain) else []
    if certain:
        return []
    if isinstance(node, (ast.IfExp, ast.Assert)):
        return [[node]] if _asks(node.test, events, certain) else []
    if isinstance(node, ast.BoolOp):
        return [[node]] if any(_asks(part, events, certain) for part in node.values) else []
    if isinstance(node, ast.comprehension):
        return [[node]] if any(_asks(test, events, certain) for test in node.ifs) else []
    return []


def _asks(test: ast.expr, events: Sequence[Event], certain: bool) -> bool:
    """Whether a condition, or a part of it, is a tensor."""
    for event in events:
        if isinstance(event, Branch) and _in(event.place, test):
            found = event.condition.only_tensors() if certain else event.condition.is_tensor()
            if found:
                return True
    return False


def _walks(over: ast.expr, events: Sequence[Event], certain: bool) -> bool:
    for event in events:
        if isinstance(event, Iteration) and _in(event.place, over):
            found = event.over.only_tensors() if certain else event.over.is_tensor() or _is_stream(event.over)
            if found:
                return True
    return False


def _is_stream(value: Value) -> bool:
    """A dataset, or an iterator over one: a loop over it is an operation, too."""
    return any(isinstance(o.cls, str) and o.cls.startswith("tensorflow.data.") for o in value.objects())


def _in(place: Place, node: ast.expr) -> bool:
    first = (node.lineno, node.col_offset)
    last = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return first <= (place.line, place.column) < last


def _within(part: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The syntax of some statements, without functions and classes in it."""
    waiting = list(part)
    for node in waiting:
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _branch(program: Program, code: Code, node: ast.If, events: Sequence[Event]) -> Iterator[str]:
    place = code.place(node)
    inside = [*_within(node.body), *_within(node.orelse)]
    sides = [_stored(_within(node.body)), _stored(_within(node.orelse))]
    leaves = [any(isinstance(s, (ast.Return, ast.Raise)) for s in side) for side in (node.body, node.orelse)]
    if any(isinstance(inner, ast.Raise) for inner in inside):
        yield f"no tensor decides on the `raise` in the branch at {place}: it fires in every trace"
    if any(isinstance(inner, (ast.Break, ast.Continue)) for inner in inside):
        yield f"the loop that the branch on a tensor at {place} leaves keeps its variables' dtypes and shapes"
    for name in sorted(sides[0] | sides[1]):
        if not _used_after(code, name, node):
            continue
        one_sided = name not in sides[0] & sides[1]
        if one_sided and not any(leaves) and not _bound_before(code, name, node):
            yield f"`{name}` has a value on both sides of the branch on a tensor at {place}"
        elif not _same_dtype(_assigned(program, code, name, node, one_sided)):
            yield f"`{name}` gets tensors of one dtype and shape on both sides of the branch on a tensor at {place}"
    yield from _returns(program, code, node, inside)
    if _fills(events, node):
        yield f"the container that the branch on a tensor at {place} fills is not used after it"


def _returns(program: Program, code: Code, node: ast.If, inside: Sequence[ast.AST]) -> Iterator[str]:
    returns = [inner for inner in inside if isinstance(inner, ast.Return)]
    if not returns:
        return
    place = code.place(node)
    later = [n for n in code.own() if isinstance(n, ast.Return) and n.lineno > _end(node)]
    every = [*returns, *later]
    both = all(any(isinstance(s, (ast.Return, ast.Raise)) for s in side) for side in (node.body, node.orelse))
    if any(_empty(r) for r in every) or (not both and not later):
        if not all(_empty(r) for r in every):
            yield f"every path from the branch on a tensor at {place} returns a tensor"
        return
    if not _same_dtype([value_of(program, code, r.value) for r in every if r.value is not None]):
        yield f"every path from the branch on a tensor at {place} returns the same structure, dtypes and shapes"


def _empty(statement: ast.Return) -> bool:
    return statement.value is None or (isinstance(statement.value, ast.Constant) and statement.value.value is None)


def _loop(code: Code, node: ast.While | ast.For, events: Sequence[Event]) -> Iterator[str]:
    place = code.place(node)
    inside = list(_within(node.body))
    target = _stored([*_within([node.target])]) if isinstance(node, ast.For) else set()
    if any(isinstance(inner, _LEAVING) for inner in inside):
        yield f"the loop over tensors at {place} is left alike when it is an operation"
    if _fills(events, node):
        yield f"the container that the loop over tensors at {place} fills is not used after it"
    carried = sorted(name for name in _stored(inside) - target if _used_after(code, name, node) or _read(inside, name))
    if carried:
        names = ", ".join(f"`{name}`" for name in carried[:4])
        yield f"the loop over tensors at {place} changes no dtype or shape of {names}"


def _fills(events: Sequence[Event], node: ast.stmt) -> bool:
    lines = range(node.lineno, _end(node) + 1)
    for event in events:
        to = event.to if isinstance(event, Write) else event.receiver if _is_filling(event) else None
        if to is not None and event.place.line in lines and any(o.kind in _CONTAINERS for o in to.objects()):
            return True
    return False


def _is_filling(event: Event) -> TypeGuard[Call]:
    return isinstance(event, Call) and any(target.endswith(_FILLING) for target in event.targets)


def _assigned(program: Program, code: Code, name: str, node: ast.If, one_sided: bool) -> list[Value | None]:
    """The values that a variable gets in the branch and, where a side leaves it alone, before."""
    found: list[Value | None] = []
    for inner in code.own():
        if not isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            continue
        targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
        if not any(isinstance(n, ast.Name) and n.id == name for t in targets for n in ast.walk(t)):
            continue
        inside = node.lineno <= inner.lineno <= _end(node)
        if not inside and not (one_sided and inner.lineno < node.lineno):
            continue
        plain = isinstance(inner, ast.Assign) and len(targets) == 1 and isinstance(targets[0], ast.Name)
        found.append(value_of(program, code, inner.value) if plain and inner.value is not None else None)
    if one_sided and name in {parameter.name for parameter in code.parameters}:
        found.append(program.parameters(code.id)[name].value)
    return found


def _same_dtype(values: Sequence[Value | None]) -> bool:
    """Whether all are tensors, of one known dtype and one known shape."""
    kinds = set()
    for value in values:
        if value is None or not value.only_tensors():
            return False
        kinds |= {(tensor.dtype, tensor.shape) for tensor in value.tensors()}
    return len(kinds) == 1 and None not in next(iter(kinds))


def _stored(nodes: Iterator[ast.AST] | Sequence[ast.AST]) -> set[str]:
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _read(nodes: Sequence[ast.AST], name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in nodes)


def _used_after(code: Code, name: str, node: ast.stmt) -> bool:
    """Read later, or in the next round of a loop around it."""
    loops = [n for n in code.own() if isinstance(n, (ast.For, ast.While)) and n.lineno <= node.lineno <= _end(n)]
    first = min((loop.lineno for loop in loops if loop is not node), default=_end(node) + 1)
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno >= first
        for n in code.own()
    )


def _bound_before(code: Code, name: str, node: ast.stmt) -> bool:
    if name in {parameter.name for parameter in code.parameters}:
        return True
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) and n.lineno < node.lineno
        for n in code.own()
    )


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
