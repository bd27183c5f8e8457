"""Reasons to say nothing of a function that could be compiled as one graph, as far as can be seen.

A verdict may rest on assumptions, and names them. A proposal that a person reads must hold for the calls that the
function is made for: what works on text, is mostly made of things that nobody knows, or makes shapes from data in one
of its branches is left alone.
"""

from __future__ import annotations

import ast

from strop.source.hybridize.choose import Status
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Primitive, Value
from strop.source.project.declarations import Code

#: kinds of breaks that need another algorithm, also where only one branch has them
_ANOTHER_ALGORITHM = ("dynamic-shape", "autograd-inside", "training-loop", "generator")
_MANY = 3  #: things that nobody knows, or values of which nobody knows whether they are tensors
_TEXT_METHODS = ("lower", "upper", "strip", "lstrip", "rstrip", "splitlines", "encode", "decode", "isdigit", "isalpha")


def reservation(program: Program, code: Code, state: Status) -> str:
    """Why a proposal would be doubtful; empty where it would not."""
    conditional = [b for b, _ in state.conditional]
    for b in conditional:
        if b.rule in _ANOTHER_ALGORITHM and not b.doubt:
            return f"{b.message} (if `{b.unless}`)"
    if sum(b.doubt for b in conditional) >= _MANY:
        return "it asks for the truth of several values of which nobody knows whether they are tensors"
    unknown = {_root(s.text) for s in state.strangers if not s.package}
    if len(unknown) >= _MANY:
        return f"nobody knows what {', '.join(f'`{text}`' for text in sorted(unknown)[:3])} do"
    text = _text(program, code)
    return f"`{text}` is text, and every other text makes another graph" if text else ""


def _root(text: str) -> str:
    """What a call starts from: `self.norm(x).movedim` and `self.norm` are one unknown."""
    return text.partition("(")[0]


def _text(program: Program, code: Code) -> str:
    """A parameter that holds texts, other than the name of an option."""
    for name, parameter in own_parameters(program, code.id).items():
        if any(_holds_texts(value) for value in (parameter.hint, parameter.value) if value is not None):
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
    """A parameter, or an element of one, that a method of texts is called on."""
    names = {parameter.name for parameter in code.parameters}
    for node in code.walk():
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name) and node.iter.id in names:
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    for node in code.walk():
        if isinstance(node, ast.Attribute) and node.attr in _TEXT_METHODS:
            if isinstance(node.value, ast.Name) and node.value.id in names:
                return node.value.id
    return ""
