"""Reasons to say nothing of a function that could be compiled as one graph, as far as can be seen.

A verdict may rest on assumptions, and names them. A proposal that a person reads must hold for the calls that the
function is made for: what works on text, is mostly made of things that nobody knows, makes shapes from data in one of
its branches or breaks where arguments are left out is passed over.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from strop.source.facts import Place
from strop.source.hybridize.break_rules import Break
from strop.source.hybridize.calling import is_run
from strop.source.hybridize.choose import Status
from strop.source.hybridize.parameters import own_parameters
from strop.source.hybridize.torch_operations import UNCHANGED
from strop.source.hybridize.torch_worth import Estimate
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.hints import hint
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Primitive, Value
from strop.source.project.declarations import Code

#: kinds of breaks that need another algorithm or another function, also where only one branch has them
_NEED_ANOTHER_WAY = (
    "dynamic-shape",
    "autograd-inside",
    "training-loop",
    "generator",
    "untraceable-call",
    "context-manager",
    "module-made-inside",
)
_TELLING = ("warnings.", "logging.", "logger.", "log.", "print")
_MANY_CONDITIONS = 2  #: that decide whether the graph holds
_MANY_UNKNOWNS = 3  #: things that are called and that nobody knows
#: units that must be saved by what no script runs: of layers, and of losses and formulas without any
_LITTLE, _FORMULA = 12.0, 16.0
_CRITERION = 24.0  #: the same of a loss, which a step computes once beside a model that is not seen in it
_LOSSES = ("loss", "criterion", "penalty", "divergence")
_TEXT_NAMES = ("texts", "captions", "prompts", "sentences")
_TEXT_METHODS = ("lower", "upper", "strip", "lstrip", "rstrip", "splitlines", "encode", "decode", "isdigit", "isalpha")


def reservation(program: Program, code: Code, state: Status, worth: Estimate) -> str:
    """Why a proposal would be doubtful; empty where it would not."""
    least = _LITTLE if any(worth.kinds[kind] for kind in UNCHANGED) else _FORMULA
    if worth.saved < least and not is_run(program, code):
        return "it is a layer or formula of a few operations, which runs beside a model of hundreds"
    if worth.saved < _CRITERION and _is_criterion(code):
        return "it is a loss of a few operations, which runs once in a step of a model of hundreds"
    stranger = _stranger(program, code)
    if stranger:
        return f"nobody knows what methods of `{stranger}` do"
    walked = _walked_callables(code)
    if walked:
        return f"whoever calls it chooses how many functions `{walked}` holds, and which"
    breaks = [(b, chain) for b, chain in state.conditional if _is_own(program, b.place) and not _only_tells(b)]
    for b, chain in breaks:
        likely = b.rule in _NEED_ANOTHER_WAY or _holds_by_default(code, b.unless) or _is_repeated(program, code, chain)
        if likely and not b.doubt:
            return f"{b.message} (if `{b.unless}`)"
    conditions = {b.unless for b, _ in breaks}
    if len(conditions) >= _MANY_CONDITIONS:
        return f"it holds together only under several conditions: not `{'`, not `'.join(sorted(conditions)[:3])}`"
    unknown = {_root(s.text) for s in state.strangers if _is_own(program, s.place) and not s.package}
    if len(unknown) >= _MANY_UNKNOWNS:
        return f"nobody knows what {', '.join(f'`{text}`' for text in sorted(unknown)[:3])} do"
    text = _text(program, code)
    return f"`{text}` is text, and every other text makes another graph" if text else ""


def _is_criterion(code: Code) -> bool:
    """A loss by its own name, that of its class, or that of its file."""
    names = [code.short, code.cls.name.rpartition(".")[2] if code.cls is not None else ""]
    in_losses = any(part in ("loss", "losses", "criterion", "criterions") for part in code.module.name.split(".")[1:])
    return in_losses or any(name.lower().endswith(_LOSSES) for name in names)


def _stranger(program: Program, code: Code) -> str:
    """A parameter whose class nobody knows, `audio: AudioSignal`, and whose methods are called."""
    called = {
        node.func.value.id
        for node in code.own()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }
    for parameter in code.parameters:
        written = parameter.annotation
        if parameter.name not in called or not isinstance(written, (ast.Name, ast.Attribute)):
            continue
        word = ast.unparse(written).rpartition(".")[2]
        if word[:1].isupper() and "Tensor" not in word and word != "Any" and hint(program, code, written) is None:
            return parameter.name
    return ""


def _walked_callables(code: Code) -> str:
    """A parameter that holds functions: `for name, loss in losses.items(): loss(y, z)`."""
    names = {parameter.name for parameter in code.parameters} - {code.receiver()}
    for loop in code.own():
        if not isinstance(loop, ast.For):
            continue
        source = loop.iter.func if isinstance(loop.iter, ast.Call) else loop.iter
        source = source.value if isinstance(source, ast.Attribute) else source
        if not isinstance(source, ast.Name) or source.id not in names:
            continue
        held = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
        calls = [node.func for node in ast.walk(loop) if isinstance(node, ast.Call)]
        if any(isinstance(called, ast.Name) and called.id in held for called in calls):
            return source.id
    return ""


def _is_own(program: Program, place: Place) -> bool:
    """Below what is scanned, also where it is part of another unit; conditions in libraries are theirs to know."""
    file = Path(os.path.realpath(place.file))
    return any(file.is_relative_to(root) for root in program.project.roots)


def _is_repeated(program: Program, code: Code, chain: tuple[Place, ...]) -> bool:
    """Whether a function calls at several places what leads to a break: as a rule in every branch of a choice."""
    calls = [event for event in program.events(code.id) if isinstance(event, Call) and event.functions]
    leading = {id for event in calls for id in event.functions if chain and _starts(event.place, chain[0])}
    return sum(not leading.isdisjoint(event.functions) for event in calls) > 1


def _starts(place: Place, other: Place) -> bool:
    return (place.file, place.line, place.column) == (other.file, other.line, other.column)


def _only_tells(b: Break) -> bool:
    """Warnings and log lines: they break a graph without changing what it computes."""
    return b.rule == "print-or-log" or b.message.lstrip("`").lower().startswith(_TELLING)


def _root(text: str) -> str:
    """What a call starts from: `self.norm(x).movedim` and `self.norm` are one unknown."""
    return text.partition("(")[0]


# -- defaults ----------------------------------------------------------------------------------------------------------


def _holds_by_default(code: Code, condition: str) -> bool:
    """Whether a condition holds for whoever leaves arguments out, of the function or of the constructor."""
    try:
        test = ast.parse(condition, mode="eval").body
    except SyntaxError:
        return False  # a long one, cut short
    return _truth(test, dict(_defaults(code))) is True


def _defaults(code: Code) -> Iterator[tuple[str, object]]:
    """Constants that parameters are by default, and attributes that a constructor sets to such a parameter."""
    yield from ((p.name, p.default.value) for p in code.parameters if isinstance(p.default, ast.Constant))
    if code.cls is None:
        return
    for other in code.module.functions:
        if other.cls is not code.cls or other.short != "__init__":
            continue
        given = {p.name: p.default.value for p in other.parameters if isinstance(p.default, ast.Constant)}
        for node in other.own():
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given:
                yield from ((ast.unparse(target), given[node.value.id]) for target in node.targets)


def _truth(test: ast.expr, defaults: dict[str, object]) -> bool | None:
    """The truth of a condition where names have these values; None where others decide."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, defaults)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [_truth(part, defaults) for part in test.values]
        deciding = isinstance(test.op, ast.Or)
        if deciding in parts:
            return deciding
        return None if None in parts else not deciding
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        name, other = ast.unparse(test.left), test.comparators[0].value
        if name not in defaults:
            return None
        if isinstance(test.ops[0], (ast.Is, ast.Eq)):
            return bool(defaults[name] == other)
        return defaults[name] != other if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)) else None
    name = ast.unparse(test)
    return bool(defaults[name]) if name in defaults else None


# -- text --------------------------------------------------------------------------------------------------------------


def _text(program: Program, code: Code) -> str:
    """A parameter that holds texts, other than the name of an option."""
    for name, parameter in own_parameters(program, code.id).items():
        if name in _TEXT_NAMES or any(
            _holds_texts(value) for value in (parameter.hint, parameter.value) if value is not None
        ):
            return name
    return _changed_text(code)


def _holds_texts(value: Value) -> bool:
    """A list of texts: nobody passes options so."""
    for obj in value.atoms:
        inside = obj.contents().atoms if isinstance(obj, Object) and obj.kind == "list" else ()
        if inside and all(isinstance(a, (Const, Primitive)) and a.type == "str" for a in inside):
            return True
    return False


def _changed_text(code: Code) -> str:
    """A parameter whose text is changed, or whose elements are compared with text."""
    names = {parameter.name for parameter in code.parameters}
    elements: set[str] = set()
    for node in code.walk():
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name) and node.iter.id in names:
            elements |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    for node in code.walk():
        if isinstance(node, ast.Attribute) and node.attr in _TEXT_METHODS and isinstance(node.value, ast.Name):
            if node.value.id in names | elements:
                return node.value.id
        elif isinstance(node, ast.Compare) and _is_text(node.comparators[0]) and ast.unparse(node.left) in elements:
            return ast.unparse(node.left)
    return ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
