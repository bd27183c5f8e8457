"""Graph breaks, predicted: where Dynamo will end a graph in a function or in what it calls, under PyTorch's own names.

Calls are looked up in `torch_breaks.toml`; branches, loops, assignments and definitions have their rules here. A break
that stands under a condition which depends on Python values is kept with that condition (`unless`).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

from strop.source.code import Code
from strop.source.events import Branch, Call, Event, Iteration, Other, Write
from strop.source.facts import Place
from strop.source.heap import Object
from strop.source.hybridize.guards import Guards
from strop.source.hybridize.torch_rules import BREAKS
from strop.source.interpret import Program
from strop.source.values import Const, Function, Primitive, Tensor, Value

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = Path(__file__).with_name("torch_breaks.toml")
_CONTEXTS = ("threading.", "multiprocessing.", "torch.device", "builtins.file", "asyncio.", "tempfile.", "socket.")
_BRANCHING = "Data-dependent branching"


@dataclass(frozen=True)
class Break:
    """One predicted graph break."""

    rule: str  #: a name in `torch_rules.BREAKS`
    gb: str  #: PyTorch's name
    message: str
    place: Place
    soft: bool = False  #: `fullgraph=True` captures it
    unless: str = ""  #: the Python condition without which it is not reached

    @property
    def code(self) -> str:
        return BREAKS[self.rule]


@dataclass(frozen=True)
class Entry:
    """One `[[break]]` of the table; without a rule, the names are exempt."""

    rule: str
    gb: str
    when: tuple[str, ...]
    soft: bool


class Known:
    """What has been found out about one program."""

    def __init__(self) -> None:
        self.breaks: dict[str, tuple[Break, ...]] = {}
        self.guards: dict[Code, Guards] = {}
        self.syntax: dict[Code, dict[tuple[int, int, int, int], ast.AST]] = {}
        self.parents: dict[Code, dict[ast.AST, ast.AST]] = {}
        self.owners: dict[str, list[Code]] = {}


_known: WeakKeyDictionary[Program, Known] = WeakKeyDictionary()


def known(program: Program) -> Known:
    found = _known.get(program)
    if found is None:
        found = _known[program] = Known()
    return found


def guards_of(program: Program, code: Code) -> Guards:
    cache = known(program).guards
    if code not in cache:
        cache[code] = Guards(program, code)
    return cache[code]


def syntax_of(program: Program, code: Code) -> dict[tuple[int, int, int, int], ast.AST]:
    """The expressions of a function by their span; the outermost one where several share it."""
    cache = known(program).syntax
    if code not in cache:
        found: dict[tuple[int, int, int, int], ast.AST] = {}
        for node in ast.walk(code.node):
            if isinstance(node, ast.expr):
                found.setdefault(_span(code.place(node)), node)
        cache[code] = found
    return cache[code]


def parents_of(program: Program, code: Code) -> dict[ast.AST, ast.AST]:
    cache = known(program).parents
    if code not in cache:
        cache[code] = {child: node for node in ast.walk(code.node) for child in ast.iter_child_nodes(node)}
    return cache[code]


def node_at(program: Program, code: Code, place: Place) -> ast.AST | None:
    return syntax_of(program, code).get(_span(place))


def _span(place: Place) -> tuple[int, int, int, int]:
    return place.line, place.column, place.end_line, place.end_column


# -- the whole of what a function reaches ------------------------------------------------------------------------------


def breaks(program: Program, id: str) -> list[tuple[Break, tuple[Place, ...]]]:
    """The breaks of a function and of everything that it may call, with the calls that lead there."""
    found: list[tuple[Break, tuple[Place, ...]]] = [(b, ()) for b in _as_entry(program, program.code(id))]
    found += [(b, ()) for b in own_breaks(program, id)]
    if not program.reaches(id, "torch breaks", lambda code: bool(own_breaks(program, code.id)) or bool(_as_callee(program, code))):
        return found
    for other, chain in program.reached(id):
        if other == id or not chain:
            continue
        code = program.code(other)
        inner = [*_as_callee(program, code), *own_breaks(program, other)]
        if not inner:
            continue
        reached, condition = _along(program, chain)
        if reached == "never":
            continue
        for b in inner:
            place = chain[0] if b.place == code.place() else b.place
            unless = b.unless or condition
            found.append((Break(b.rule, b.gb, b.message, place, b.soft, unless), chain))
    return found


def _along(program: Program, chain: tuple[Place, ...]) -> tuple[str, str]:
    """Whether a chain of calls is reached, and the first condition that it depends on."""
    condition = ""
    for place in chain:
        owner = owner_of(program, place)
        if owner is None:
            continue
        truth, guard = guards_of(program, owner).reached(place)
        if truth == "never":
            return "never", ""
        if guard is not None and not condition:
            condition = guard.text()
    return "maybe" if condition else "always", condition


def owner_of(program: Program, place: Place) -> Code | None:
    """The innermost function around a place."""
    owners = known(program).owners
    if not owners:
        for code in program.codes():
            owners.setdefault(code.module.file, []).append(code)
    best: Code | None = None
    for code in owners.get(place.file, ()):
        own = code.place()
        if isinstance(code.node, ast.ClassDef) or (isinstance(code.node, ast.Module) and best is not None):
            continue
        if isinstance(code.node, ast.Module) or own.line <= place.line <= own.end_line:
            if best is None or isinstance(best.node, ast.Module) or own.line >= best.line:
                best = code
    return best


def own_breaks(program: Program, id: str) -> tuple[Break, ...]:
    """The breaks that stand in a function's own code and are reached."""
    cache = known(program).breaks
    if id not in cache:
        cache[id] = ()  # against circles
        cache[id] = tuple(_own(program, program.code(id)))
    return cache[id]


def _own(program: Program, code: Code) -> Iterator[Break]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return
    found: dict[tuple[str, Place], Break] = {}
    for event in program.events(code.id):
        for b in _of_event(program, code, event):
            found.setdefault((b.rule, b.place), b)
    for b in _of_syntax(program, code):
        found.setdefault((b.rule, b.place), b)
    if not found:
        return
    guards = guards_of(program, code)
    for b in found.values():
        if guards.is_raising(b.place):
            continue
        truth, guard = guards.reached(b.place)
        if truth == "never":
            continue
        unless = b.unless or (guard.text() if guard is not None else "")
        yield Break(b.rule, b.gb, b.message, b.place, b.soft, unless)


def _as_entry(program: Program, code: Code) -> Iterator[Break]:
    """What keeps a function from being compiled by itself."""
    if code.is_async:
        yield Break("generator", "Attempt to trace generator", "it is a coroutine", code.place())
    elif code.is_generator and not code.decorated("contextmanager"):
        yield Break("generator", "Attempt to trace generator", "it is a generator", code.place())


def _as_callee(program: Program, code: Code) -> list[Break]:
    """What ends the graph of a caller just because the function is called."""
    found = []
    for decorator in code.decorators:
        name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        last = name.rpartition(".")[2]
        if last == "disable" and ("compiler" in name or "dynamo" in name or name == "disable"):
            found.append(("asked-for-break", "Skip calling `torch.compiler.disable()`d function", f"`{code.name}` is under `@{name}`"))
        elif last == "singledispatch":
            found.append(("untraceable-call", "missing tp_iter", f"`{code.name}` is dispatched by `functools.singledispatch`"))
        elif last == "cached_property" and sys.version_info < (3, 12):
            found.append(("context-manager", "Unsupported context manager", f"`{code.name}` is a `cached_property`, which takes a lock"))
    if code.is_async:
        found.append(("generator", "Attempt to trace generator", f"`{code.name}` is a coroutine"))
    return [Break(rule, gb, message, code.place()) for rule, gb, message in found]


def _of_syntax(program: Program, code: Code) -> Iterator[Break]:
    """What no event tells of: classes, `.grad_fn`, and membership tests that decide something."""
    waiting: list[ast.AST] = list(code.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.ClassDef):
            text = f"class `{node.name}` is defined here"
            yield Break("python-object", "Invalid call to __build_class__", text, code.place(node))
        elif isinstance(node, ast.Attribute) and node.attr == "grad_fn" and isinstance(node.ctx, ast.Load):
            yield Break("autograd-inside", "Tensor with grad_fn()", f"`{ast.unparse(node)}` is read", code.place(node))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)) and _is_asked(program, code, node):
            if any(_is_tensor(value_of(program, code, side)) for side in (node.left, *node.comparators)):
                text = f"the truth of `{ast.unparse(node)}` depends on the data of a tensor"
                yield Break("data-dependent-branch", _BRANCHING, text, code.place(node))


def value_of(program: Program, code: Code, node: ast.expr) -> Value | None:
    """What is known of an expression: the result of a call or operator, or a parameter that nothing rebinds."""
    if isinstance(node, ast.Name):
        stored = any(isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store) for n in ast.walk(code.node))
        parameter = None if stored else program.parameters(code.id).get(node.id)
        return parameter.value if parameter is not None else None
    span = _span(code.place(node))
    return next((e.result for e in program.events(code.id) if isinstance(e, Call) and _span(e.place) == span), None)


# -- single events -----------------------------------------------------------------------------------------------------


def _of_event(program: Program, code: Code, event: Event) -> Iterator[Break]:
    if isinstance(event, Call):
        yield from _call(program, code, event)
    elif isinstance(event, Branch):
        yield from _branch(program, code, event)
    elif isinstance(event, Iteration):
        yield from _iteration(event)
    elif isinstance(event, Write):
        yield from _write(event)
    elif isinstance(event, Other) and event.kind == "with" and event.value is not None:
        for name in _class_names(event.value):
            if name.startswith(_CONTEXTS):
                yield Break("context-manager", "Unsupported context manager", f"`with` on a `{name}`", event.place)


def _call(program: Program, code: Code, event: Call) -> Iterator[Break]:
    for target in event.targets:
        entry = lookup(program, code, event, target)
        if entry is not None and entry.rule:
            node = node_at(program, code, event.place)
            yield Break(entry.rule, entry.gb, _message(entry, target, node), event.place, entry.soft)
    if set(event.targets) & {"builtins.format", "builtins.str.format"} and _takes(event, Value.is_tensor):
        if not _only_printed(program, code, event.place):
            yield Break("text-of-tensor", "Observed exception", "a tensor is formatted as text", event.place)


def _message(entry: Entry, target: str, node: ast.AST | None) -> str:
    shown = target.removeprefix("builtins.").replace("torch.Tensor.__getitem__", "x[…]")
    text = ast.unparse(node) if node is not None else ""
    text = text if text and len(text) <= 60 and "\n" not in text else shown
    return f"`{text}`: {entry.gb}"


def _branch(program: Program, code: Code, event: Branch) -> Iterator[Break]:
    value = event.condition
    if not any(isinstance(atom, Tensor) for atom in value.atoms):
        return
    if event.kind == "assert" and not _has_message(code, event.place):
        return
    node = node_at(program, code, event.place)
    if isinstance(node, ast.Compare) and (isinstance(node.ops[0], (ast.In, ast.NotIn)) or _with_none(node)):
        return
    text = ast.unparse(node) if node is not None else "a tensor"
    optional = any(isinstance(atom, Const) and atom.constant is None for atom in value.atoms)
    unless = f"{text} is not None" if optional else ""
    yield Break("data-dependent-branch", _BRANCHING, f"the truth of `{text}` depends on the data of a tensor", event.place, unless=unless)


def _has_message(code: Code, place: Place) -> bool:
    """Whether an `assert` has a message that is not a constant."""
    for node in ast.walk(code.node):
        if isinstance(node, ast.Assert) and _span(code.place(node.test)) == _span(place):
            return node.msg is not None and not isinstance(node.msg, ast.Constant)
    return False


def _with_none(node: ast.Compare) -> bool:
    """`x == None` is False for tensors, without looking at data."""
    return any(isinstance(side, ast.Constant) and side.value is None for side in (node.left, *node.comparators))


def _is_asked(program: Program, code: Code, node: ast.AST) -> bool:
    """Whether `… in tensor` decides something; alone it is an operation like any other."""
    parents = parents_of(program, code)
    parent = parents.get(node)
    return isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.UnaryOp, ast.Assert, ast.comprehension))


def _only_printed(program: Program, code: Code, place: Place) -> bool:
    """Text for `print`, a logger, `warn` or `assert` is reported there."""
    parents = parents_of(program, code)
    node = node_at(program, code, place) or next(
        (n for n in ast.walk(code.node) if isinstance(n, ast.FormattedValue) and _span(code.place(n)) == _span(place)), None
    )
    while node is not None and not isinstance(node, ast.stmt):
        node = parents.get(node)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in ("print", "debug", "info", "warning", "warn", "error", "exception", "critical", "log"):
                return True
    return isinstance(node, (ast.Assert, ast.Raise)) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call))


def _iteration(event: Iteration) -> Iterator[Break]:
    for name in _class_names(event.over):
        if name.startswith("torch.utils.data."):
            gb = "Attempted to inline function marked as skipped"
            yield Break("training-loop", gb, f"a loop walks a `{name.rpartition('.')[2]}`", event.place)
        elif name == "builtins.file":
            yield Break("input-output", "Failed to trace builtin operator", "a loop reads a file", event.place)


def _write(event: Write) -> Iterator[Break]:
    if event.to is None or event.kind != "attribute":
        return
    attribute = event.target.rpartition(".")[2]
    tensors = [atom for atom in event.to.atoms if isinstance(atom, Tensor)]
    if tensors and attribute == "requires_grad":
        yield Break("tensor-state", "setattr() on Tensor.requires_grad", f"`{event.target}` is set", event.place)
    elif attribute == "data" and any(t.kind == "tensor" for t in tensors):
        yield Break("tensor-state", "Failed to mutate tensor data attribute", f"`{event.target}` is replaced", event.place)
    elif any(isinstance(atom, Function) for atom in event.to.atoms):
        yield Break("python-object", "setattr() on unsupported type", f"`{event.target}` is set", event.place)


def _class_names(value: Value) -> list[str]:
    return [atom.class_name() for atom in value.atoms if isinstance(atom, Object) and isinstance(atom.cls, str)]


# -- the table ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def table() -> dict[str, tuple[Entry, ...]]:
    """Entries by name; `x.*` stands under `x.`."""
    found: dict[str, list[Entry]] = {}
    for item in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["break"]:
        entry = Entry(item.get("rule", ""), item.get("gb", ""), tuple(item.get("when", ())), item.get("soft", False))
        for name in item["names"].split():
            found.setdefault(name.removesuffix("*"), []).append(entry)
    return {name: tuple(entries) for name, entries in found.items()}


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


def _takes(event: Call, test: Callable[[Value], bool]) -> bool:
    return any(test(value) for value in [*event.args, *(value for _, value in event.kwargs)])


def _is_tensor(value: Value | None) -> bool:
    return value is not None and any(isinstance(a, Tensor) and a.kind != "array" for a in value.atoms)


def _holds_tensor(value: Value | None) -> bool:
    return value is not None and (value.holds_tensor() or bool(value.arrays()))


def _array(program: Program, code: Code, event: Call) -> bool:
    """An array that comes from data; numpy's answer to plain numbers is a plain number to Dynamo."""
    value = _argument(event, 0)
    if value is None or not value.arrays():
        return False
    node = node_at(program, code, event.place)
    inner = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(inner, ast.Call):
        for other in program.events(code.id):
            if isinstance(other, Call) and _span(other.place) == _span(code.place(inner)):
                plain = all(isinstance(atom, (Const, Primitive)) for v in other.args for atom in v.atoms)
                return not (plain and other.receiver is not None and not other.receiver.arrays())
    return True


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


def _key_gives_tensor(program: Program, code: Code, event: Call) -> bool:
    key = dict(event.kwargs).get("key")
    functions = [atom for atom in key.atoms if isinstance(atom, Function)] if key is not None else []
    return any(node.result.is_tensor() for f in functions for node in f.code.nodes.values())


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
    tests = [n.test for n in ast.walk(code.node) if isinstance(n, (ast.If, ast.While, ast.IfExp))]
    tests += [n.slice for n in ast.walk(code.node) if isinstance(n, ast.Subscript)]
    return any(isinstance(n, ast.Name) and n.id == name for test in tests for n in ast.walk(test))


def _tensorish(value: Value | None) -> bool:
    """A tensor, or a module, which holds some."""
    if value is None:
        return False
    return value.holds_tensor() or any(name.startswith("torch.nn.") for name in _class_names(value))


def _has(event: Call, name: str) -> bool:
    value = dict(event.kwargs).get(name)
    return value is not None and not value.is_none()


def _lacks(event: Call, rest: str) -> bool:
    name, _, index = rest.partition(":")
    return not _has(event, name) and len(event.args) <= int(index)


#: what `when` may say: words with a digit ask about that argument
CONDITIONS: dict[str, Callable[[Program, Code, Call, str], bool]] = {
    "tensor": lambda p, c, e, _: _takes(e, _is_tensor),
    "tensor0": lambda p, c, e, _: _is_tensor(_argument(e, 0)),
    "tensor1": lambda p, c, e, _: _is_tensor(_argument(e, 1)),
    "size0": lambda p, c, e, _: _is_tensor(_argument(e, 0)) and len(e.args) == 1,
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
    "no": lambda p, c, e, rest: _lacks(e, rest),
    "true": lambda p, c, e, rest: dict(e.kwargs).get(rest, e.result).constant() is True,
    "not": lambda p, c, e, rest: not (e.args and e.args[0].constant() is False),
    "key gives tensor": lambda p, c, e, _: _key_gives_tensor(p, c, e),
    "text receiver": lambda p, c, e, _: e.receiver is not None and e.receiver.only("str"),
    "decides": lambda p, c, e, _: _decides(p, c, e),
}
