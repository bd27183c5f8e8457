"""What crosses the boundary of a `tf.function`, and what becomes of it there.

Arguments: NumPy arrays become tensors of their own dtype, tensors and Variables stay what they are, Python values are
constants of a trace. Results: only structures of tensors come back as they were; Python numbers, texts and arrays come
back as tensors, shapes, optimizers, models and other objects are refused. And the function is no plain function any
more: decorators, special methods and whoever catches its errors must do with that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.source.hybridize.parameters import holds_array, is_symbolic, own_parameters
from strop.source.interpret.entries import ancestor_names
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.queries import ParameterFacts
from strop.source.interpret.values import (
    Atom,
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    LibraryValue,
    ModuleAtom,
    Partial,
    Primitive,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from strop.source.project.declarations import Class, Code

#: decorators that take a `tf.function` object as they take a function
_PLAIN_DECORATORS = {"staticmethod", "classmethod", "override", "final", "abstractmethod"}
#: calls that make a tensor of an array in the same way in eager mode and in a graph
_CONVERSIONS = {"tensorflow.cast", "tensorflow.convert_to_tensor"}  # `tf.constant` refuses a tensor without value
#: library objects that no graph returns
_REFUSED = (
    "tensorflow.Operation",
    "tensorflow.Module",
    "tensorflow.keras.Model",
    "tensorflow.keras.Sequential",
    "tensorflow.keras.layers.",
    "tensorflow.keras.optimizers.",
    "tensorflow.keras.metrics.",
    "tensorflow.keras.losses.",
    "tensorflow.train.",
)
_RAISES = ("assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesWithPredicateMatch", "raises")


def crossing(program: Program, code: Code) -> Iterator[str]:
    """What must hold at the boundary for callers to see no difference."""
    yield from _result(program, code)
    yield from _arguments(program, code)
    yield from _standing(program, code)


# -- results -----------------------------------------------------------------------------------------------------------


def _result(program: Program, code: Code) -> Iterator[str]:
    if code.is_generator:
        yield "nobody needs the generator: a graph cannot yield"
    if code.is_async:
        yield "nobody awaits the function: a graph is no coroutine"
        return
    for node in code.nodes.values():
        for text in changed_by_return(program, node.result):
            yield f"the result is made of tensors, not of {text}"


def changed_by_return(program: Program, value: Value, depth: int = 3) -> Iterator[str]:
    """The parts of a result that do not come back from a graph as they are."""
    for atom in value.atoms:
        if isinstance(atom, (Const, Primitive)):
            if atom.type in ("str", "bytes"):
                yield "text"
            elif atom.type != "NoneType":
                yield "Python numbers"
        elif isinstance(atom, Tensor):
            if atom.kind == "array":
                yield "NumPy arrays"
            elif atom.kind == "variable":
                yield "Variables"
        elif isinstance(atom, (FunctionValue, Bound, Partial)):
            yield "functions"
        elif isinstance(atom, (ClassAtom, ModuleAtom, LibraryValue)):
            yield f"`{atom.describe()}`"
        elif isinstance(atom, Unknown):
            yield "things that the scan does not know"
        elif isinstance(atom, Tuple):
            for item in atom.items if depth else ():
                yield from changed_by_return(program, item, depth - 1)
        elif isinstance(atom, Object):
            yield from _object(program, atom, depth)


def _object(program: Program, obj: Object, depth: int) -> Iterator[str]:
    if obj.kind in ("list", "dict", "tuple"):
        if depth:
            yield from changed_by_return(program, obj.contents(), depth - 1)
    elif obj.kind in ("set", "frozenset", "generator", "iterator"):
        yield f"a {obj.kind}"
    elif isinstance(obj.cls, Class):
        if not _is_named_tuple(program, obj.cls):
            yield f"objects of `{obj.cls.name}`"
        elif depth:
            for cell in obj.attributes.values():
                yield from changed_by_return(program, cell.value, depth - 1)
    elif obj.cls == "builtins.tuple":
        if depth:
            yield from changed_by_return(program, obj.contents(), depth - 1)
    else:
        yield f"objects of `{obj.cls}`"


def refused_result(program: Program, code: Code) -> str:
    """The part of the result that makes every call of a graph fail; empty where a call may succeed."""
    found = {_refused(program, node.result) for node in code.nodes.values()}
    return min(found, default="") if all(found) else ""


def _refused(program: Program, value: Value, depth: int = 3) -> str:
    """What a value is, on every path, that is neither a tensor nor can become one."""
    found = {_refused_atom(program, atom, depth) for atom in value.atoms}
    return min(found, default="") if all(found) else ""


def _refused_atom(program: Program, atom: Atom, depth: int) -> str:
    if isinstance(atom, (FunctionValue, Bound, Partial)):
        return "a function"
    if isinstance(atom, Tuple):
        return next((text for item in atom.items if depth and (text := _refused(program, item, depth - 1))), "")
    if isinstance(atom, Object) and atom.kind == "instance":
        if isinstance(atom.cls, str):
            return f"an object of `{atom.cls}`" if atom.cls.startswith(_REFUSED) else ""
        return f"an object of `{atom.cls.name}`" if _is_plain(program, atom.cls) else ""
    return ""


def _is_plain(program: Program, cls: Class) -> bool:
    """A class that is known through and through, and has nothing that would make its objects structures or tensors."""
    if any("dataclass" not in ast.unparse(decorator) for decorator in cls.node.decorator_list):
        return False
    members = {n.name for n in cls.node.body if isinstance(n, ast.FunctionDef)}
    if any(name == "__array__" or name.startswith("__tf_") for name in members):
        return False
    for value in program.bases.get(cls, ()):
        for atom in value.atoms:
            if isinstance(atom, LibraryValue) and atom.dotted.startswith(("builtins.object", "abc.", *_REFUSED)):
                continue
            if not isinstance(atom, ClassAtom) or atom.cls is cls or not _is_plain(program, atom.cls):
                return False
    return True


def _is_named_tuple(program: Program, cls: Class) -> bool:
    return any(
        name.rpartition(".")[2] in ("NamedTuple", "namedtuple", "tuple") for name in ancestor_names(program, cls)
    )


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(program: Program, code: Code) -> Iterator[str]:
    for name, facts in own_parameters(program, code.id).items():
        for obj in facts.value.objects():
            if obj.kind == "set" or (isinstance(obj.cls, Class) and _unhashable(obj.cls)):
                yield f"`{name}` can be hashed: `tf.function` refuses other objects as arguments"
        if holds_array(facts.value) and not _only_converted(program, code, facts):
            yield f"`{name}` may be a tensor where callers pass a NumPy array: `tf.function` makes one of it"
        if any(atom.kind == "variable" for atom in facts.value.tensors()) and _assigns(program, code, name):
            yield f"`{name}` is a `tf.Variable`: one of Keras comes as a tensor, which cannot be assigned to"
        if is_symbolic(facts.value, any):
            yield f"`{name}` is no symbolic Keras input in any call: `tf.function` refuses those"
        if facts.value.is_unknown() and (facts.value.holds_tensor() or holds_array(facts.value)):
            yield f"`{name}` is a tensor in calls, too, that the scan cannot follow"


def _assigns(program: Program, code: Code, name: str) -> bool:
    """Whether a parameter is assigned to by one of the methods of Variables, or handed on to where it may be."""
    for node in code.walk():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            if node.attr.startswith(("assign", "scatter", "batch_scatter")):
                return True
        elif isinstance(node, ast.Call) and any(isinstance(a, ast.Name) and a.id == name for a in node.args):
            return True
    return False


def _unhashable(cls: Class) -> bool:
    frozen = [ast.unparse(d) for d in cls.node.decorator_list if "dataclass" in ast.unparse(d)]
    members = {n.name for n in cls.node.body if isinstance(n, ast.FunctionDef)}
    by_hand = "__eq__" in members and "__hash__" not in members
    return by_hand or any("frozen=True" not in text and "eq=False" not in text for text in frozen)


def _only_converted(program: Program, code: Code, facts: ParameterFacts) -> bool:
    """Every use of the array is the first argument of a conversion without a dtype, or of `tf.cast`."""
    if not all(isinstance(atom, Tensor) for atom in facts.value.atoms):
        return False
    converted = set()
    for node in code.walk():
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            targets = _targets(program, code, node)
            plain = len(node.args) == 1 and not node.keywords
            if targets and all(t in _CONVERSIONS and (plain or t == "tensorflow.cast") for t in targets):
                converted.add(node.args[0])
    uses = [n for n in code.walk() if isinstance(n, ast.Name) and n.id == facts.name]
    return all(use in converted for use in uses)


def _targets(program: Program, code: Code, node: ast.Call) -> tuple[str, ...]:
    from strop.source.interpret.events import Call

    place = code.place(node)
    calls = [e for e in program.events(code.id) if isinstance(e, Call) and e.place == place]
    return calls[0].targets if calls else ()


# -- the function as an object -----------------------------------------------------------------------------------------


def _standing(program: Program, code: Code) -> Iterator[str]:
    for decorator in code.decorators:
        written = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if written.rpartition(".")[2] not in _PLAIN_DECORATORS:
            yield f"`@{written}` takes a `tf.function` object as it takes a function"
    if code.short.startswith("__") and code.short.endswith("__") and code.short != "__call__":
        yield f"Python may get a tensor from `{code.short}`"
    if code in program.escaped:
        yield f"what is given the function at {program.escaped[code]} takes a `tf.function` object alike"
    for caller, place in program.callers(code.id):
        for node in program.code(caller).own():
            if isinstance(node, ast.Try) and node.handlers and _holds(node.body, place.line):
                yield f"the errors that are caught around {place} are the same: a graph raises some while it is traced"
            elif isinstance(node, ast.With) and _holds(node.body, place.line) and _expects_error(node):
                yield f"the errors that are expected at {place} are the same: a graph raises some while it is traced"


def _holds(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


def _expects_error(node: ast.With) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(ast.unparse(call.func).rpartition(".")[2] in _RAISES for call in calls)
