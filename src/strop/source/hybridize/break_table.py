"""The table of calls that end graphs (`torch_breaks.toml`): lookup by name, and what its conditions mean."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from strop.source.hybridize.syntax import node_at, parents_of, span
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, FunctionValue, Primitive, Tensor, Unknown, Value
from strop.source.project.declarations import Code

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = Path(__file__).with_name("torch_breaks.toml")


@dataclass(frozen=True)
class Entry:
    """One `[[break]]` of the table; without a rule, the names are exempt."""

    rule: str
    gb: str
    when: tuple[str, ...]
    soft: bool


@lru_cache(maxsize=1)
def table() -> dict[str, tuple[Entry, ...]]:
    """Entries by name; `x.*` stands under `x.`."""
    found: dict[str, list[Entry]] = {}
    for item in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["break"]:
        entry = Entry(item.get("rule", ""), item.get("gb", ""), tuple(item.get("when", ())), item.get("soft", False))
        for name in item["names"].split():
            found.setdefault(name.removesuffix("*"), []).append(entry)
    return {name: tuple(entries) for name, entries in found.items()}


@lru_cache(maxsize=1)
def random_names() -> frozenset[str]:
    """What draws other random numbers once it is compiled."""
    return frozenset(tomllib.loads(_TABLE.read_text(encoding="utf-8"))["random"]["names"].split())


def lookup(program: Program, code: Code, event: Call, target: str) -> Entry | None:
    """The entry that applies: those of the name itself first, then those of longer prefixes."""
    entries = table()
    name, owner = target, ""
    while name:
        for entry in entries.get(name, ()):
            if all(_holds(word, program, code, event) for word in entry.when):
                return entry
        owner = name.rstrip(".").rpartition(".")[0]
        name = f"{owner}." if owner else ""
    return _inherited(program, code, event, target)


def _inherited(program: Program, code: Code, event: Call, target: str) -> Entry | None:
    """Methods that a class of the library takes from its bases."""
    owner, _, method = target.rpartition(".")
    for base in program.apis.mro(owner)[1:] if owner in program.apis.classes else ():
        for entry in table().get(f"{base}.{method}", ()):
            if all(_holds(word, program, code, event) for word in entry.when):
                return entry
    return None


def _holds(word: str, program: Program, code: Code, event: Call) -> bool:
    name, _, rest = word.partition(":")
    return CONDITIONS[name](program, code, event, rest)


def _argument(event: Call, index: int) -> Value | None:
    return event.args[index] if len(event.args) > index else None


def takes(event: Call, test: Callable[[Value], bool]) -> bool:
    return any(test(value) for value in [*event.args, *(value for _, value in event.kwargs)])


def is_tensor(value: Value | None) -> bool:
    return value is not None and any(isinstance(a, Tensor) and a.kind != "array" for a in value.atoms)


def _holds_tensor(value: Value | None) -> bool:
    return value is not None and (value.holds_tensor() or bool(value.arrays()))


def _array(program: Program, code: Code, event: Call) -> bool:
    """An array that comes from data; numpy's answer to plain numbers is a plain number to Dynamo."""
    value = _argument(event, 0)
    if value is None or not value.arrays():
        return False
    node = node_at(program, code, event.place)
    inner = _computed(code, node.args[0]) if isinstance(node, ast.Call) and node.args else None
    if not isinstance(inner, ast.Call):
        return True
    for other in program.events(code.id):
        if isinstance(other, Call) and span(other.place) == span(code.place(inner)):
            plain = all(isinstance(atom, (Const, Primitive, Unknown)) for v in other.args for atom in v.atoms)
            return not (plain and other.receiver is not None and not other.receiver.arrays())
    return True


def _computed(code: Code, node: ast.expr) -> ast.expr:
    """What a variable that is assigned once stands for."""
    if not isinstance(node, ast.Name):
        return node
    stores = [n for n in code.walk() if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)]
    made = [n for n in code.walk() if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] in stores]
    return made[0].value if len(stores) == len(made) == 1 else node


def _mask(value: Value | None) -> bool:
    if value is None:
        return False
    for atom in value.atoms:
        if isinstance(atom, Tensor) and atom.dtype == "bool":
            return True
        items = getattr(atom, "items", None)
        if isinstance(items, tuple) and any(_mask(item) for item in items):
            return True
    return False


def _scalar_index(program: Program, code: Code, event: Call) -> bool:
    """An index that is a tensor of no dimensions: Dynamo asks for its value."""
    value = _argument(event, 0)
    if value is None or not value.is_tensor():
        return False
    if any(isinstance(a, Tensor) and a.shape == () and a.dtype != "bool" for a in value.atoms):
        return True
    node = node_at(program, code, event.place)
    index = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(index, ast.Call) or not isinstance(index.func, ast.Attribute) or index.keywords:
        return False
    own = not (isinstance(index.func.value, ast.Name) and index.func.value.id == "torch")
    return index.func.attr in ("argmax", "argmin") and len(index.args) == (0 if own else 1)


def _gives_tensor(value: Value | None) -> bool:
    """Whether a function that is passed in returns tensors."""
    functions = [atom for atom in value.atoms if isinstance(atom, FunctionValue)] if value is not None else []
    return any(node.result.is_tensor() for f in functions for node in f.code.nodes.values())


def _filters_tensors(event: Call) -> bool:
    """`filter(predicate, tensors)` with a predicate that answers with a tensor, or none."""
    predicate = _argument(event, 0)
    if predicate is not None and (
        predicate.is_none() or not any(isinstance(a, FunctionValue) for a in predicate.atoms)
    ):
        return _holds_tensor(_argument(event, 1))
    return _gives_tensor(predicate)


def _decides(program: Program, code: Code, event: Call) -> bool:
    """Whether the result, directly or through a variable, decides a branch or is an index."""
    parents = parents_of(program, code)
    node = node_at(program, code, event.place)
    child: ast.AST | None = node
    while child is not None and not isinstance(child, ast.stmt):
        parent = parents.get(child)
        if isinstance(parent, (ast.If, ast.While, ast.IfExp)) and child is parent.test:
            return True
        if isinstance(parent, ast.Subscript) and child is parent.slice:
            return True
        child = parent
    if not isinstance(child, ast.Assign) or child.value is not node or not isinstance(child.targets[0], ast.Name):
        return False
    name = child.targets[0].id
    tests: list[ast.AST] = [n.test for n in code.walk() if isinstance(n, (ast.If, ast.While, ast.IfExp))]
    tests += [n.slice for n in code.walk() if isinstance(n, ast.Subscript)]
    return any(isinstance(n, ast.Name) and n.id == name for test in tests for n in ast.walk(test))


#: of these, a number that is not known while tracing may be an argument
_TAKES_ANY = frozenset(
    [
        *("add", "sub", "mul", "div", "clamp", "clip", "full", "pow", "tensor", "maximum", "minimum"),
        *("print", "abs", "min", "max", "int", "float"),
    ]
)


def _shapes(program: Program, code: Code, event: Call) -> bool:
    """Whether a number, directly or through a variable, is passed to something that needs to know it."""
    node = node_at(program, code, event.place)
    parent = parents_of(program, code).get(node) if node is not None else None
    name = parent.targets[0].id if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) else ""
    for call in code.walk():
        if not isinstance(call, ast.Call) or call is node:
            continue
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called in _TAKES_ANY:
            continue
        given = [inner for a in (*call.args, *call.keywords) for inner in _passed(a)]
        if any(a is node or (isinstance(a, ast.Name) and a.id == name) for a in given):
            return True
    return False


def _passed(argument: ast.AST) -> list[ast.AST]:
    inner = argument.value if isinstance(argument, (ast.keyword, ast.Starred)) else argument
    return list(inner.elts) if isinstance(inner, (ast.Tuple, ast.List)) else [inner]


def class_names(value: Value) -> list[str]:
    return [atom.class_name() for atom in value.atoms if isinstance(atom, Object) and isinstance(atom.cls, str)]


def _tensorish(value: Value | None) -> bool:
    """A tensor, or a module, which holds some."""
    if value is None:
        return False
    return value.holds_tensor() or any(name.startswith("torch.nn.") for name in class_names(value))


def _has(event: Call, name: str) -> bool:
    value = dict(event.kwargs).get(name)
    return value is not None and not value.is_none()


def _lacks(event: Call, rest: str) -> bool:
    name, _, index = rest.partition(":")
    return not _has(event, name) and len(event.args) <= int(index)


def _passed_tensor(event: Call, rest: str) -> bool:
    name, _, index = rest.partition(":")
    value = dict(event.kwargs).get(name) or _argument(event, int(index))
    return is_tensor(value)


#: what `when` may say: words with a digit ask about that argument
CONDITIONS: dict[str, Callable[[Program, Code, Call, str], bool]] = {
    "tensor": lambda p, c, e, _: takes(e, is_tensor),
    "tensor0": lambda p, c, e, _: is_tensor(_argument(e, 0)),
    "tensor1": lambda p, c, e, _: is_tensor(_argument(e, 1)),
    "size0": lambda p, c, e, _: is_tensor(_argument(e, 0)) and len(e.args) == 1,
    "holds0": lambda p, c, e, _: _holds_tensor(_argument(e, 0)),
    "holds1": lambda p, c, e, _: _holds_tensor(_argument(e, 1)),
    "array0": lambda p, c, e, _: _array(p, c, e),
    "mask0": lambda p, c, e, _: _mask(_argument(e, 0)),
    "scalar0": lambda p, c, e, _: _scalar_index(p, c, e),
    "tensorish0": lambda p, c, e, _: _tensorish(_argument(e, 0)),
    "container0": lambda p, c, e, _: any(o.kind != "instance" for o in (_argument(e, 0) or e.result).objects()),
    "one": lambda p, c, e, _: len(e.args) == 1 and not e.kwargs,
    "none given": lambda p, c, e, _: not e.args and not e.kwargs,
    "has": lambda p, c, e, rest: _has(e, rest),
    "passed": lambda p, c, e, rest: _passed_tensor(e, rest),
    "no": lambda p, c, e, rest: _lacks(e, rest),
    "true": lambda p, c, e, rest: dict(e.kwargs).get(rest, e.result).constant() is True,
    "not": lambda p, c, e, rest: not (e.args and e.args[0].constant() is False),
    "key gives tensor": lambda p, c, e, _: _gives_tensor(dict(e.kwargs).get("key")),
    "function0 gives tensor": lambda p, c, e, _: _filters_tensors(e),
    "whole numbers": lambda p, c, e, _: (
        e.receiver is not None and all((t.dtype or "").startswith(("int", "uint")) for t in e.receiver.tensors())
    ),
    "text receiver": lambda p, c, e, _: e.receiver is not None and e.receiver.only("str"),
    "decides": lambda p, c, e, _: _decides(p, c, e),
    "shapes": lambda p, c, e, _: _shapes(p, c, e),
}
