"""Type hints as abstract values; `None` where a hint says nothing that matters here."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from strop.source.interpret.joins import join_all
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    ClassAtom,
    LibraryValue,
    Value,
    library,
    primitive,
    tensor,
    tuple_of,
    unknown,
)

if TYPE_CHECKING:
    from strop.source.interpret.heap import Object
    from strop.source.interpret.interpreter import Program
    from strop.source.project.declarations import Class, Code

_PRIMITIVES = ("int", "float", "str", "bool", "bytes", "complex")
_SEQUENCES = (
    "list", "List", "Sequence", "Iterable", "Iterator", "Collection", "MutableSequence", "Generator", "set", "Set",
    "FrozenSet", "frozenset", "deque",
)  # fmt: skip
_DICTS = ("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict")
_TRANSPARENT = ("Optional", "Final", "ClassVar", "Annotated", "Required", "NotRequired")


def hint(program: Program, code: Code, expression: ast.expr | None, depth: int = 5) -> Value | None:
    """What a value with this annotation is."""
    if expression is None or depth == 0:
        return None
    if isinstance(expression, ast.Constant):
        if expression.value is None:
            return NONE
        return _quoted(program, code, expression.value, depth) if isinstance(expression.value, str) else None
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        return _either(program, code, [expression.left, expression.right], depth)
    if isinstance(expression, ast.Subscript):
        return _generic(program, code, expression, depth)
    return _named(program, code, expression)


def _quoted(program: Program, code: Code, text: str, depth: int) -> Value | None:
    try:
        return hint(program, code, ast.parse(text.strip(), mode="eval").body, depth - 1)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _either(program: Program, code: Code, parts: list[ast.expr], depth: int) -> Value | None:
    known = [hint(program, code, part, depth - 1) for part in parts]
    found = [value for value in known if value is not None]
    if not any(value is not NONE for value in found):
        return None
    return join_all([*found, *([unknown("a type hint")] if len(found) < len(known) else [])])


def _generic(program: Program, code: Code, expression: ast.Subscript, depth: int) -> Value | None:
    word = _last(expression.value)
    inner = expression.slice
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if word == "Union":
        return _either(program, code, parts, depth)
    if word == "Optional":
        value = hint(program, code, parts[0], depth - 1)
        return None if value is None else join_all([value, NONE])
    if word in _TRANSPARENT:
        return hint(program, code, parts[0], depth - 1)
    if word in ("tuple", "Tuple"):
        items = [hint(program, code, part, depth - 1) or unknown("a type hint") for part in parts if not _is_dots(part)]
        if any(_is_dots(part) for part in parts):
            return _container(program, code, expression, "tuple", items[0])
        return tuple_of(tuple(items))
    if word in _SEQUENCES:
        element = hint(program, code, parts[0], depth - 1)
        return None if element is None else _container(program, code, expression, "list", element)
    if word in _DICTS and len(parts) == 2:
        value = hint(program, code, parts[1], depth - 1)
        return None if value is None else _container(program, code, expression, "dict", value)
    outer = _named(program, code, expression.value)
    if outer is not None:
        return outer
    return hint(program, code, parts[0], depth - 1) if word in ("Float", "Int", "Bool", "Shaped", "Num") else None


def _is_dots(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _container(program: Program, code: Code, at: ast.expr, kind: str, element: Value) -> Value:
    obj = program.allocate(None, at, kind, f"builtins.{kind}")
    program.put_wild(obj, element, primitive("str") if kind == "dict" else NOTHING)
    return obj.value


def _named(program: Program, code: Code, expression: ast.expr) -> Value | None:
    atom = resolve(program, code, expression)
    if isinstance(atom, ClassAtom):
        return instance(program, atom.cls)
    if not isinstance(atom, LibraryValue):
        return None
    dotted = atom.dotted
    word = dotted.rpartition(".")[2]
    if dotted.startswith("builtins.") and word in _PRIMITIVES:
        return primitive(word)
    if dotted == "builtins.NoneType":
        return NONE
    known = program.apis.classes.get(dotted)
    if known is not None and known.kind:
        return tensor(known.framework, known.kind)
    framework = program.apis.framework(dotted)
    if framework in ("tensorflow", "torch") and (word.endswith(("Tensor", "TensorLike")) or word == "TensorType"):
        return tensor(framework)
    if dotted.startswith("builtins.") or not program.apis.is_class(dotted):
        return None
    return program.allocate(None, expression, "instance", dotted).value


def instance(program: Program, cls: Class) -> Value:
    """Any instance of a class of the project: those that are made somewhere, or one that stands for strangers."""
    made = program.objects_of(cls) or _of_subclasses(program, cls)
    if made:
        return join_all([obj.value for obj in made[:8]])
    return program.allocate(None, cls.node, "instance", cls).value


def _of_subclasses(program: Program, cls: Class) -> list[Object]:
    """Instances of subclasses: what `self` is in a base class that nobody makes an instance of."""
    below = [objects for other, objects in program.instances.items() if cls in program.orders.get(other, ())]
    return [obj for objects in below for obj in objects]


def resolve(program: Program, code: Code, expression: ast.expr) -> object:
    """The class or library thing that a dotted name means in a module."""
    if isinstance(expression, ast.Attribute):
        outer = resolve(program, code, expression.value)
        if isinstance(outer, LibraryValue):
            return library(program.apis.canonical(f"{outer.dotted}.{expression.attr}"))
        module = getattr(outer, "module", None)
        if module is None:
            return None
        program.late.do(program.module_frame(module), expression.attr)
        cell = program.module_frame(module).cells.get(expression.attr)
        return cell.value.atoms[0] if cell is not None and cell.value.atoms else None
    if not isinstance(expression, ast.Name):
        return None
    program.late.do(program.module_frame(code.module), expression.id)
    cells = program.module_frame(code.module).cells
    cell = cells.get(expression.id) or program.stars.find(program, code.module, expression.id)
    if cell is not None:
        return cell.value.atoms[0] if cell.value.atoms else None
    return library(f"builtins.{expression.id}")


def _last(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
