"""Single constructs that end graphs: what each event of a function, and some of its syntax, means to Dynamo."""

from __future__ import annotations

import ast
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from strop.source.facts import Place
from strop.source.hybridize.break_table import Entry, class_names, is_tensor, lookup, takes
from strop.source.hybridize.syntax import node_at, parents_of, span, value_of
from strop.source.hybridize.torch_operations import kind_of
from strop.source.hybridize.torch_rules import BREAKS
from strop.source.interpret.events import Branch, Call, Event, Iteration, Other, Write
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Bound, ClassAtom, FunctionValue, Tensor, Tuple, Unknown, Value
from strop.source.project.declarations import Class, Code, walk

_PERMUTING = {
    f"torch.{owner}{name}" for owner in ("", "Tensor.") for name in ("permute", "transpose", "movedim", "flip")
}
_CONTEXTS = ("threading.", "multiprocessing.", "torch.device", "builtins.file", "asyncio.", "tempfile.", "socket.")
_PRINTING = ("print", "debug", "info", "warning", "warn", "error", "exception", "critical", "log")
_AROUND = (ast.FormattedValue, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Starred)
_BRANCHING = "Data-dependent branching"
#: conditions of the table that ask for tensors, and the arguments that they ask about
_ASKED = {"tensor0": slice(0, 1), "size0": slice(0, 1), "tensor1": slice(1, 2), "tensor": slice(None)}


@dataclass(frozen=True)
class Break:
    """One predicted graph break."""

    rule: str  #: a name in `torch_rules.BREAKS`
    gb: str  #: PyTorch's name
    message: str
    place: Place
    soft: bool = False  #: `fullgraph=True` captures it
    unless: str = ""  #: the Python condition without which it is not reached
    doubt: bool = False  #: it is open what a value is: enough for a verdict or an assumption, not for a finding

    @property
    def code(self) -> str:
        return BREAKS[self.rule]


def of_event(program: Program, code: Code, event: Event) -> Iterator[Break]:
    if isinstance(event, Call):
        yield from _call(program, code, event)
    elif isinstance(event, Branch):
        yield from _branch(program, code, event)
    elif isinstance(event, Iteration):
        yield from _iteration(event)
    elif isinstance(event, Write):
        yield from _write(event)
    elif isinstance(event, Other) and event.kind == "with" and event.value is not None:
        for name in class_names(event.value):
            if name.startswith(_CONTEXTS):
                yield Break("context-manager", "Unsupported context manager", f"`with` on a `{name}`", event.place)


def _call(program: Program, code: Code, event: Call) -> Iterator[Break]:
    for target in event.targets:
        entry = lookup(program, code, event, target)
        if entry is not None and entry.rule:
            node = node_at(program, code, event.place)
            message = _message(entry, target, node)
            unless, doubt = _doubt(program, code, event, entry, node)
            yield Break(entry.rule, entry.gb, message, event.place, entry.soft, unless, doubt)
    if set(event.targets) & _PERMUTING and any(map(_is_certain, _orders(program, code, event))):
        message = "the order of dimensions is read from a tensor"
        yield Break("tensor-to-python", "Data dependent operator", message, event.place)
    formats = set(event.targets) & {"builtins.format", "builtins.str.format"} and takes(event, Value.is_tensor)
    if formats and _is_read(program, code, _text_at(program, code, event.place)):
        doubt = not takes(event, _is_certain)
        message = "a tensor is formatted as text"
        yield Break("text-of-tensor", "Observed exception", message, event.place, doubt=doubt)


def _orders(program: Program, code: Code, event: Call) -> Iterator[Value]:
    """What a call that permutes dimensions takes beside the tensor, also behind a star."""
    node = node_at(program, code, event.place)
    for argument in node.args if isinstance(node, ast.Call) else ():
        value = value_of(program, code, argument.value if isinstance(argument, ast.Starred) else argument)
        if value is not None and (isinstance(argument, ast.Starred) or argument is not node.args[0]):  # type: ignore[union-attr]
            yield value


def _doubt(program: Program, code: Code, event: Call, entry: Entry, node: ast.AST | None) -> tuple[str, bool]:
    """The condition under which it is this function, called with a tensor; and whether that is open at all."""
    others = [
        t for t in event.targets if not t.startswith("builtins.tuple.") and lookup(program, code, event, t) is None
    ]
    own = [
        a for a in (event.callee.atoms if event.callee is not None else ()) if isinstance(a, (FunctionValue, ClassAtom))
    ]
    if others or own:
        return "it is this function that is called", True
    first = next((_ASKED[word] for word in entry.when if word in _ASKED), None)
    asked = list(event.args[first]) if first is not None else []
    if not asked or any(is_tensor(value) and _is_certain(value) for value in asked):
        return "", False
    if any(is_tensor(value) and _is_likely(value) for value in asked):
        return "", True
    text = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "the argument"
    return f"{text} is a tensor", True


def _is_certain(value: Value) -> bool:
    """Nothing else than a tensor comes here: what is passed in from outside may be anything."""
    return bool(value.atoms) and all(
        isinstance(atom, Tuple) or (isinstance(atom, Tensor) and atom.kind != "array") for atom in value.atoms
    )


def _is_likely(value: Value) -> bool:
    """Nothing else than a tensor is known to come here: enough for a verdict, too little for a finding."""
    return all(isinstance(atom, (Tensor, Tuple, Unknown)) for atom in value.atoms)


def _message(entry: Entry, target: str, node: ast.AST | None) -> str:
    shown = target.removeprefix("builtins.").replace("torch.Tensor.__getitem__", "x[…]")
    text = ast.unparse(node) if node is not None else ""
    text = text if text and len(text) <= 60 and "\n" not in text else shown
    return f"`{text}`: {entry.gb}"


def _branch(program: Program, code: Code, event: Branch) -> Iterator[Break]:
    node = node_at(program, code, event.place)
    if node is not None and _asks_for_keys(node):
        return
    asked = node.values[-1] if isinstance(node, ast.BoolOp) else node if isinstance(node, ast.Compare) else None
    last = value_of(program, code, asked) if asked is not None else None
    value = last if is_tensor(last) and last is not None else event.condition
    if not any(isinstance(atom, Tensor) for atom in value.atoms):
        return
    if event.kind == "assert" and not _has_message(code, event.place):
        return
    if isinstance(node, ast.Compare) and (isinstance(node.ops[0], (ast.In, ast.NotIn)) or _with_none(node)):
        return
    text = ast.unparse(node) if node is not None else "a tensor"
    sides = _sides(program, code, event) if isinstance(node, ast.Compare) else []
    unless = "" if _is_likely(value) or any(map(_is_buffer, sides)) else f"{text} is a tensor"
    message = f"the truth of `{text}` depends on the data of a tensor"
    doubt = not _is_certain(value) or (isinstance(node, ast.Compare) and _compares_unknown(program, code, node))
    yield Break("data-dependent-branch", _BRANCHING, message, event.place, unless=unless, doubt=doubt)


def _sides(program: Program, code: Code, event: Branch) -> list[Value]:
    """What a comparison compares."""
    at = span(event.place)
    compared = [e for e in program.events(code.id) if isinstance(e, Call) and e.callee is None and span(e.place) == at]
    return [value for e in compared for value in (e.receiver, *e.args) if value is not None]


def _is_buffer(value: Value) -> bool:
    """A tensor, beside what an attribute is taken for before it is known: `self.steps` of `register_buffer`."""
    kinds = (Tensor, Unknown, Bound)
    return any(isinstance(a, Tensor) for a in value.atoms) and all(isinstance(a, kinds) for a in value.atoms)


def _asks_for_keys(node: ast.AST) -> bool:
    """`"mask" in batch.keys()`, alone or several: a dict is asked, whatever is taken for a tensor there."""
    if isinstance(node, ast.BoolOp):
        return all(map(_asks_for_keys, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _asks_for_keys(node.operand)
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return False
    return isinstance(node.left, (ast.Constant, ast.JoinedStr)) and not _is_number(node.left)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes))


def _compares_unknown(program: Program, code: Code, node: ast.Compare) -> bool:
    """Whether what may be a tensor in a comparison may be something else, too."""
    sides = [value_of(program, code, side) for side in (node.left, *node.comparators)]
    tensors = [value for value in sides if value is not None and is_tensor(value)]
    return bool(tensors) and not any(_is_certain(value) for value in tensors)


def _has_message(code: Code, place: Place) -> bool:
    """Whether an `assert` has a message that is not a constant."""
    for node in code.walk():
        if isinstance(node, ast.Assert) and span(code.place(node.test)) == span(place):
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


def _text_at(program: Program, code: Code, place: Place) -> ast.AST | None:
    """The f-string or call of `format` at a place."""
    for node in code.walk():
        if isinstance(node, ast.FormattedValue) and span(code.place(node)) == span(place):
            return node
    return node_at(program, code, place)


def _is_read(program: Program, code: Code, node: ast.AST | None, deep: bool = True) -> bool:
    """Whether text made from a tensor is looked at in the graph; what is returned or printed is made afterwards."""
    parents = parents_of(program, code)
    while node is not None:
        parent = parents.get(node)
        if isinstance(
            parent, (ast.FormattedValue, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Starred)
        ):
            node = parent
            continue
        if isinstance(parent, ast.Call):
            name = getattr(parent.func, "id", None) or getattr(parent.func, "attr", "")
            return node is parent.func or name not in _PRINTING
        if isinstance(parent, ast.Attribute) and parent.attr == "format" and isinstance(parents.get(parent), ast.Call):
            return False
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) and deep:
            name = parent.targets[0].id
            loads = [n for n in code.walk() if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
            return any(_is_read(program, code, load, False) for load in loads)
        return not isinstance(parent, (ast.Return, ast.Expr, ast.Assert, ast.Raise, ast.Yield))
    return False


def _iteration(event: Iteration) -> Iterator[Break]:
    for name in class_names(event.over):
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
        yield Break(
            "tensor-state", "Failed to mutate tensor data attribute", f"`{event.target}` is replaced", event.place
        )
    elif any(isinstance(atom, (FunctionValue, ClassAtom)) for atom in event.to.atoms):
        yield Break("python-object", "setattr() on unsupported type", f"`{event.target}` is set", event.place)


def of_syntax(program: Program, code: Code) -> Iterator[Break]:
    """What no event tells of: classes, `.grad_fn`, and membership tests that decide something."""
    for node in walk(code.body, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(node, ast.ClassDef):
            text = f"class `{node.name}` is defined here"
            yield Break("python-object", "Invalid call to __build_class__", text, code.place(node))
        elif isinstance(node, ast.Attribute) and node.attr == "grad_fn" and isinstance(node.ctx, ast.Load):
            yield Break("autograd-inside", "Tensor with grad_fn()", f"`{ast.unparse(node)}` is read", code.place(node))
        elif isinstance(node, ast.Slice) and (bound := _tensor_bound(program, code, node)) is not None:
            gb, text = "Dynamic slicing with Tensor arguments", f"`{ast.unparse(node)}` has a tensor as a bound"
            unless, doubt = _if_tensor(program, code, bound)
            yield Break("tensor-to-python", gb, text, code.place(node), soft=True, unless=unless, doubt=doubt)
        elif isinstance(node, ast.Subscript) and (name := _walked_index(program, code, node)):
            text = f"`{name}` is an element of a tensor and an index in `{ast.unparse(node)}`"
            yield Break("tensor-to-python", "Data dependent operator", text, code.place(node))
        elif isinstance(node, ast.Attribute) and (name := _attribute_of_dict(program, code, node)):
            text = f"`{ast.unparse(node)}` is set by a method of `{name}`, which Dynamo does not run when it makes one"
            yield Break("python-object", "Observed exception", text, code.place(node))
        elif isinstance(node, ast.Compare) and _looks_for_tensor(program, code, node):
            text = f"the truth of `{ast.unparse(node)}` depends on the data of a tensor"
            yield Break("data-dependent-branch", _BRANCHING, text, code.place(node))


def _attribute_of_dict(program: Program, code: Code, node: ast.Attribute) -> str:
    """The class of a dict that gives its items out as attributes, set as they come in; a `__getattr__` is followed."""
    value = value_of(program, code, node.value) if isinstance(node.ctx, ast.Load) else None
    atoms = value.atoms if value is not None else ()
    found = [atom for atom in atoms if isinstance(atom, Object) and _keeps_attributes(program, atom, node.attr)]
    known = [atom for atom in atoms if not isinstance(atom, Unknown)]
    of_tensors = kind_of(f"torch.Tensor.{node.attr}") == "free" or f"torch.Tensor.{node.attr}" in program.apis.functions
    return found[0].class_name() if found and len(found) == len(known) and not of_tensors else ""


def _keeps_attributes(program: Program, obj: Object, name: str) -> bool:
    order = program.orders.get(obj.cls, ()) if isinstance(obj.cls, Class) else ()
    own = [cls for cls in order if isinstance(cls, Class)]
    names = {member for cls in own for member in program.members.get(cls, ())}
    made_apart = any(word.endswith("dataclass") for cls in own for word in program.class_decorators.get(cls, ()))
    is_dict = bool({"builtins.dict", "collections.OrderedDict"} & set(order))
    is_method = hasattr(OrderedDict, name)
    return is_dict and not (is_method or made_apart) and bool(names & _KEEPING) and not names & {name, "__getattr__"}


_KEEPING = {"__setattr__", "__setitem__"}


def _walked_index(program: Program, code: Code, node: ast.Subscript) -> str:
    """The variable of a loop over a tensor that is an index here: Dynamo asks for its value."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    names = [part.id for part in indices if isinstance(part, ast.Name)]
    if not names:
        return ""
    loops = [n for n in code.walk() if isinstance(n, (ast.For, ast.comprehension))]
    walked = {name for loop in loops for name in _elements(program, code, loop.target, loop.iter)}
    return next((name for name in names if name in walked), "")


def _elements(program: Program, code: Code, target: ast.expr, source: ast.expr) -> Iterator[str]:
    """Variables that a loop sets to elements of tensors, also through `zip` and `enumerate`."""
    called = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else ""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    if called == "enumerate" and len(parts) == 2 and isinstance(source, ast.Call) and source.args:
        yield from _elements(program, code, parts[1], source.args[0])
    elif called == "zip" and isinstance(source, ast.Call):
        for part, argument in zip(parts, source.args):
            yield from _elements(program, code, part, argument)
    elif isinstance(target, ast.Name):
        value = value_of(program, code, source)
        if value is not None and value.only_tensors():
            yield target.id


def _tensor_bound(program: Program, code: Code, node: ast.Slice) -> ast.expr | None:
    """The bound of a slice that is a tensor, or may be one."""
    bounds = [bound for bound in (node.lower, node.upper, node.step) if bound is not None]
    return next((bound for bound in bounds if is_tensor(value_of(program, code, bound))), None)


def _if_tensor(program: Program, code: Code, node: ast.expr) -> tuple[str, bool]:
    """The condition under which an expression is a tensor, if something else may come; and whether that is open."""
    value = value_of(program, code, node)
    if value is None or _is_certain(value):
        return "", False
    return "" if _is_likely(value) else f"{ast.unparse(node)} is a tensor", True


def _looks_for_tensor(program: Program, code: Code, node: ast.Compare) -> bool:
    """`x in …` with a tensor on either side, where the answer decides something."""
    if not isinstance(node.ops[0], (ast.In, ast.NotIn)) or not _is_asked(program, code, node):
        return False
    if _asks_for_keys(node):
        return False
    return any(is_tensor(value_of(program, code, side)) for side in (node.left, *node.comparators))


def as_entry(program: Program, code: Code) -> Iterator[Break]:
    """What keeps a function from being compiled by itself."""
    if code.is_async:
        yield Break("generator", "Attempt to trace generator", "it is a coroutine", code.place())
    elif code.is_generator and not code.decorated("contextmanager"):
        yield Break("generator", "Attempt to trace generator", "it is a generator", code.place())


def as_callee(program: Program, code: Code) -> list[Break]:
    """What ends the graph of a caller just because the function is called."""
    found = []
    for decorator in code.decorators:
        name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        last = name.rpartition(".")[2]
        if last == "disable" and ("compiler" in name or "dynamo" in name or name == "disable"):
            found.append(
                (
                    "asked-for-break",
                    "Skip calling `torch.compiler.disable()`d function",
                    f"`{code.name}` is under `@{name}`",
                )
            )
        elif last == "singledispatch":
            found.append(
                ("untraceable-call", "missing tp_iter", f"`{code.name}` is dispatched by `functools.singledispatch`")
            )
        elif last == "cached_property" and sys.version_info < (3, 12):
            found.append(
                (
                    "context-manager",
                    "Unsupported context manager",
                    f"`{code.name}` is a `cached_property`, which takes a lock",
                )
            )
    if code.is_async:
        found.append(("generator", "Attempt to trace generator", f"`{code.name}` is a coroutine"))
    return [Break(rule, gb, message, code.place()) for rule, gb, message in found]
