"""Questions to a program that has run: events, parameters, callers, frameworks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strop.source.facts import Framework, Place
from strop.source.interpret.entries import module_framework
from strop.source.interpret.events import Branch, Call, Event, Iteration, Other, Read, Write
from strop.source.interpret.heap import Cell, Frame, FunctionContext, Object
from strop.source.interpret.hints import hint
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import NOTHING, Tensor, Value
from strop.source.project.declarations import Code

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program


@dataclass(frozen=True)
class Flow:
    """What one call passes for one parameter."""

    place: Place
    caller: str  #: id; empty for a stranger
    value: Value


@dataclass(frozen=True)
class ParameterFacts:
    """Everything known of one parameter. `value` joins every call (and the default, where a call leaves it out)."""

    name: str
    kind: str
    value: Value
    flows: tuple[Flow, ...]
    given: bool  #: some call passes it
    default: Value | None
    hint: Value | None
    called: bool  #: something in the project calls the function


def events_of(program: Program, code: Code) -> list[Event]:
    """The events of all contexts, joined, in source order."""
    merged: dict[tuple[int, str], tuple[ast.AST, str, Any]] = {}
    owners: dict[tuple[int, str], list[FunctionContext]] = {}
    for node in code.nodes.values():
        for key, (at, kind, payload) in node.events.items():
            known = merged.get(key)
            merged[key] = (at, kind, payload) if known is None else (at, kind, _joined(kind, known[2], payload))
            owners.setdefault(key, []).append(node)
    found = []
    for key, (at, kind, payload) in merged.items():
        event = _MAKERS[kind](program, code, at, payload, owners[key])
        if event is not None:
            found.append(event)
    return sorted(found, key=lambda event: (event.place.line, event.place.column))


def _joined(kind: str, a: Any, b: Any) -> Any:
    if kind == "call":
        receiver = b[2] if a[2] is None else a[2] if b[2] is None else join(a[2], b[2])
        args = [join(x, y) for x, y in zip(a[3], b[3])] + (a[3][len(b[3]) :] or b[3][len(a[3]) :])
        kwargs = {k: join(a[4].get(k, NOTHING), b[4].get(k, NOTHING)) for k in {**a[4], **b[4]}}
        callee = b[6] if a[6] is None else a[6] if b[6] is None else join(a[6], b[6])
        return ([*a[0], *b[0]], [*a[1], *b[1]], receiver, args, kwargs, join(a[5], b[5]), callee)
    if kind in ("branch", "iteration", "other"):
        return (a[0], a[1] if b[1] is None else b[1] if a[1] is None else join(a[1], b[1]))
    if kind == "write":
        to = join(a[2], b[2]) if isinstance(a[2], Value) and isinstance(b[2], Value) else a[2]
        return (a[0], a[1], to, join(a[3], b[3]))
    return a


def _call(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    targets, functions, receiver, args, kwargs, result, callee = payload
    unique = tuple(dict.fromkeys(targets)), tuple(dict.fromkeys(functions))
    return Call(code.place(at), *unique, receiver, tuple(args), tuple(sorted(kwargs.items())), result, callee)


def _branch(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    return Branch(code.place(at), payload[0], payload[1])


def _iteration(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    return Iteration(code.place(at), payload[0], payload[1])


def _other(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    return Other(code.place(at), payload[0], payload[1])


def _write(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    from strop.source.interpret.effects import outside

    kind, text, to, value = payload
    answers = {outside(program.graph_of_calls(), node, to) for node in nodes}
    verdict = True if True in answers else None if None in answers else False
    return Write(code.place(at), kind, text, to if isinstance(to, Value) else None, value, verdict)


def _read(kind: str) -> Callable[..., Event | None]:
    def make(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
        name, cell, owner = payload
        if not is_written_later(cell, owner):
            return None
        return Read(code.place(at), kind, name, cell.value)  # type: ignore[arg-type]

    return make


def _variables(program: Program, code: Code, at: ast.AST, payload: Any, nodes: list[FunctionContext]) -> Event | None:
    return Read(code.place(at), "variables", payload[0], payload[1], payload[2])


def is_written_later(cell: Cell, owner: object) -> bool:
    """Whether a function (not only the code that first defines it) writes the variable."""
    home = owner.code if isinstance(owner, Frame) else None
    return any(code is not home and code.short not in ("__init__", "build") for code in cell.writers)


_MAKERS: dict[str, Callable[..., Event | None]] = {
    "call": _call,
    "branch": _branch,
    "iteration": _iteration,
    "other": _other,
    "write": _write,
    "read global": _read("global"),
    "read closure": _read("closure"),
    "read attribute": _read("attribute"),
    "read variables": _variables,
}


def parameters(program: Program, code: Code) -> dict[str, ParameterFacts]:
    found = {}
    nodes = list(code.nodes.values())
    called = any(node.callers or not node.entry for node in nodes)
    for parameter in code.parameters:
        name = parameter.name
        value = join_all([node.parameters.get(name, NOTHING) for node in nodes])
        flows = []
        for node in nodes:
            for (caller, line, column), passed in node.arguments.items():
                if name not in passed:
                    continue
                file = caller.code.module.file if caller is not None else code.module.file
                flows.append(
                    Flow(Place(file, line, column), caller.code.id if caller is not None else "", passed[name])
                )
        given = any(name in node.given for node in nodes)
        default = program.defaults.get(code, {}).get(name) if parameter.default is not None else None
        hinted = hint(program, code, parameter.annotation) if program.hints else None
        flows.sort(key=lambda flow: flow.place)
        found[name] = ParameterFacts(name, parameter.kind, value, tuple(flows), given, default, hinted, called)
    return found


def callers(program: Program, code: Code) -> list[tuple[str, Place]]:
    found: dict[tuple[str, Place], None] = {}
    for node in code.nodes.values():
        for caller, line, column in node.arguments:
            if caller is not None:
                found[caller.code.id, Place(caller.code.module.file, line, column)] = None
    return sorted(found, key=lambda item: item[1])


def chain_to(program: Program, code: Code, limit: int = 8) -> tuple[Place, ...]:
    """Places of calls that lead from module-level code to a function, outermost first."""
    chain: list[Place] = []
    seen = {code}
    while len(chain) < limit:
        step = next(
            (
                (caller.code, Place(caller.code.module.file, line, column))
                for node in code.nodes.values()
                for caller, line, column in node.arguments
                if caller is not None and caller.code not in seen
            ),
            None,
        )
        if step is None:
            break
        code = step[0]
        seen.add(code)
        chain.insert(0, step[1])
    return tuple(chain)


def reached(program: Program, code: Code) -> list[tuple[str, tuple[Place, ...]]]:
    best: dict[str, tuple[Place, ...]] = {}
    for node, chain in program.graph_of_calls().chains(code).items():
        known = best.get(node.code.id)
        if known is None or len(chain) < len(known):
            best[node.code.id] = chain
    return list(best.items())


def recursive(program: Program, code: Code) -> bool | None:
    if not code.nodes:
        return None
    if program.graph_of_calls().is_recursive(code):
        return True
    return None if any(node.gave_up for node in code.nodes.values()) else False


def users(program: Program) -> dict[Object, list[str]]:
    """For every object that is called, who calls it."""
    found: dict[Object, list[str]] = {}
    for code in program.codes():
        for node in code.nodes.values():
            for _, kind, payload in node.events.values():
                callee = payload[6] if kind == "call" else None
                for obj in callee.objects() if callee is not None else ():
                    found.setdefault(obj, []).append(code.id)
    return found


def framework(program: Program, code: Code) -> Framework | None:
    """By what it calls and takes, then by what its module imports."""
    votes = {"torch": 0, "tensorflow": 0}
    for node in code.nodes.values():
        for value in node.parameters.values():
            for atom in value.atoms:
                if isinstance(atom, Tensor) and atom.framework in votes:
                    votes[atom.framework] += 1
        for _, kind, payload in node.events.values():
            for target in payload[0] if kind == "call" else ():
                word = target.partition(".")[0]
                if word in votes:
                    votes[word] += 1
    if votes["torch"] != votes["tensorflow"]:
        return "torch" if votes["torch"] > votes["tensorflow"] else "tensorflow"
    return module_framework(program, code)  # type: ignore[return-value]
