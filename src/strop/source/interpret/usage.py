"""What a function's own code says of its parameters: `x.unsqueeze(0)` needs a tensor, `batch["image"]` a dict.

Only for functions that nothing in the project calls and whose parameters carry no hints; whatever is concluded here is
an assumption and is reported as one. Strong uses decide alone (a method that only tensors have, an argument of
`torch.…`); weak ones (arithmetic, an index) count together with a name that tensors go by.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from strop.source.project.declarations import Code

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["tensor", "tensors", "record"]

_WORDS = tomllib.loads(Path(__file__).with_name("usage.toml").read_text(encoding="utf-8"))
DISTINCTIVE, SHARED, CONTAINERS, BINARY, JOINING, NAMES = (
    frozenset(_WORDS[key].split()) for key in ("distinctive", "shared", "containers", "binary", "joining", "names")
)


_NO_TENSOR = ("range", "sorted", "dict", "set", "frozenset")  #: builtins that nobody gives a tensor
ENDINGS = tuple(_WORDS["endings"].split())
#: names of sizes and counts: numbers, unless something is done with them that only tensors can
_COUNT = re.compile(r"(num|n|max|min)_\w+|(\w+_)?(size|len|length|dim|steps|count|heads|layers)")
#: names of dicts of settings, which hold numbers and words
_SETTINGS = re.compile(r"(\w+_)?(opts?|options?|config|conf|cfg|settings|hparams|args|kwargs)")


@dataclass(frozen=True)
class Use:
    """Why a parameter looks like what it looks like."""

    kind: Kind
    line: int
    text: str


def uses(code: Code, generous: bool = False) -> dict[str, Use]:
    """The parameters that are used like tensors, lists of tensors, or dicts of tensors. What a constructor takes are
    settings, its dicts too, unless it is used like nothing but a tensor.

    `generous` is for functions that take little else, such as `forward`: there, any name will do for a weak use.
    """
    known = code.uses.get(generous)
    if known is None:
        known = code.uses[generous] = _uses(code, generous)
    return known


def _uses(code: Code, generous: bool) -> dict[str, Use]:
    names = {p.name for p in code.parameters if p.kind not in ("args", "kwargs")} - {code.receiver()}
    strong: dict[str, Use] = {}
    weak: dict[str, Use] = {}
    other: set[str] = set()
    for name, strength, use in _found(code, names):
        if strength == "other":
            other.add(name)
        else:
            (strong if strength == "strong" else weak).setdefault(name, use)
    for name, use in _walked(code, names):
        strong.setdefault(name, use)
    settings = {name for name, use in strong.items() if use.kind == "record" and _is_settings(code, name)}
    other |= settings
    found = {
        name: use
        for name, use in strong.items()
        if name not in settings and (name not in other or use.kind != "tensor")
    }
    named = {
        name: use
        for name, use in weak.items()
        if name not in found and name not in other and (generous or name in NAMES or name.endswith(ENDINGS))
        if code.short != "__init__" and not _COUNT.fullmatch(name)
    }
    return {**found, **named}


def _is_settings(code: Code, name: str) -> bool:
    return code.short == "__init__" or _SETTINGS.fullmatch(name) is not None


def _found(code: Code, names: set[str]) -> Iterator[tuple[str, str, Use]]:
    for node in code.own():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield from _attribute(node, node.value.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            if node.attr in DISTINCTIVE:
                for name in _operand_names(node.value, names):
                    yield name, "strong", Use("tensor", node.lineno, ast.unparse(node))
        elif isinstance(node, ast.Call):
            yield from _call(node, names)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                yield node.value.id, "strong", Use("record", node.lineno, ast.unparse(node))
            else:
                yield node.value.id, "weak", Use("tensor", node.lineno, ast.unparse(node))
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)):
            yield from _operands(node, names)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield from _truths(node.test, names)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Name) and node.iter.id in names:
            yield node.iter.id, "weak", Use("tensor", node.lineno, f"for … in {node.iter.id}")


def _walked(code: Code, names: set[str]) -> Iterator[tuple[str, Use]]:
    """Parameters that a loop walks, with elements that are used like tensors."""
    for node in code.own():
        if not isinstance(node, (ast.For, ast.comprehension)) or not isinstance(node.target, ast.Name):
            continue
        if not isinstance(node.iter, ast.Name) or node.iter.id not in names:
            continue
        for _, strength, use in _found(code, {node.target.id}):
            if strength == "strong" and use.kind == "tensor":
                yield node.iter.id, Use("tensors", use.line, use.text)
                break


def _attribute(node: ast.Attribute, name: str) -> Iterator[tuple[str, str, Use]]:
    text = ast.unparse(node)
    if node.attr in ("keys", "items", "values"):
        yield name, "strong", Use("record", node.lineno, text)
    elif node.attr in CONTAINERS or node.attr in (
        "parameters",
        "state_dict",
        "train",
        "eval",
        "forward",
        "lower",
        "upper",
    ):
        yield name, "other", Use("tensor", node.lineno, text)
    elif node.attr in SHARED:
        yield name, "weak", Use("tensor", node.lineno, text)
    elif node.attr in DISTINCTIVE:
        yield name, "strong", Use("tensor", node.lineno, text)


def _call(node: ast.Call, names: set[str]) -> Iterator[tuple[str, str, Use]]:
    called = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
    if isinstance(node.func, ast.Name) and node.func.id in names:
        yield node.func.id, "other", Use("tensor", node.lineno, called)
    if called == "isinstance" and len(node.args) == 2 and _names_plain_types(node.args[1]):
        for argument in node.args[:1]:
            if isinstance(argument, ast.Name) and argument.id in names:
                yield argument.id, "other", Use("tensor", node.lineno, ast.unparse(node))
        return
    first, last = called.partition(".")[0], called.rpartition(".")[2]
    from_torch = first in ("torch", "F", "TF") or called.startswith("nn.functional.")
    for index, argument in enumerate(node.args):
        if not isinstance(argument, ast.Name) or argument.id not in names:
            continue
        if from_torch and last in JOINING and index == 0:
            yield argument.id, "strong", Use("tensors", node.lineno, ast.unparse(node))
        elif called in _NO_TENSOR and not node.keywords:
            yield argument.id, "other", Use("tensor", node.lineno, ast.unparse(node))
        elif (
            from_torch
            and (index == 0 or last in BINARY)
            and last not in ("tensor", "zeros", "ones", "arange", "device", "manual_seed", "save")
        ):
            yield argument.id, "strong", Use("tensor", node.lineno, ast.unparse(node))
        else:
            yield argument.id, "weak", Use("tensor", node.lineno, ast.unparse(node))


def _names_plain_types(node: ast.expr) -> bool:
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return bool(names) and names <= {"str", "int", "float", "bool", "bytes"}


def _truths(test: ast.expr, names: set[str]) -> Iterator[tuple[str, str, Use]]:
    """A parameter whose truth is asked, or that is compared with text, is an option, no tensor."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _truths(part, names)
        return
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    if isinstance(inner, ast.Name) and inner.id in names:
        yield inner.id, "other", Use("tensor", test.lineno, ast.unparse(test))
    if not isinstance(inner, ast.Compare) or not isinstance(inner.left, ast.Name) or inner.left.id not in names:
        return
    if any(isinstance(c, ast.Constant) and isinstance(c.value, str) for c in inner.comparators):
        yield inner.left.id, "other", Use("tensor", test.lineno, ast.unparse(test))


def _operands(
    node: ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign, names: set[str]
) -> Iterator[tuple[str, str, Use]]:
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            container = node.comparators[0]
            if isinstance(container, ast.Name) and container.id in names:
                yield container.id, "other", Use("tensor", node.lineno, ast.unparse(node))
            return
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return
    elif isinstance(node, ast.UnaryOp):
        sides = [node.operand]
        if isinstance(node.op, ast.Not):
            return
    else:
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
    matrix = isinstance(getattr(node, "op", None), ast.MatMult)
    for side in sides:
        if isinstance(side, ast.Name) and side.id in names:
            yield side.id, "strong" if matrix else "weak", Use("tensor", node.lineno, ast.unparse(node))


def undecided(code: Code) -> bool:
    """Whether parameters take part in arithmetic of which nobody knows if it is tensor arithmetic."""
    names = {p.name for p in code.parameters if p.default is None and p.annotation is None} - {code.receiver()}
    operators = [n for n in code.own() if isinstance(n, (ast.BinOp, ast.UnaryOp, ast.AugAssign))]
    return any(True for node in operators for _ in _operands(node, names))


def _operand_names(node: ast.expr, names: set[str]) -> Iterator[str]:
    """Parameters in an expression of operators alone: `(a - b) / c`. Numbers may stand there, too, beside a tensor."""
    if isinstance(node, ast.Name) and node.id in names:
        yield node.id
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _operand_names(node.left, names)
        yield from _operand_names(node.right, names)
    elif isinstance(node, ast.BinOp):
        sides = [*_operand_names(node.left, names), *_operand_names(node.right, names)]
        yield from sides if len(sides) < 2 and _is_number(node) else ()
    elif isinstance(node, ast.UnaryOp):
        yield from _operand_names(node.operand, names)
    elif isinstance(node, ast.Compare):
        yield from _operand_names(node.left, names)


def _is_number(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant)
