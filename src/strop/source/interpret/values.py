"""Abstract values: what the interpreter knows of a Python value without running anything.

A `Value` is a set of atoms, each one thing that the value may be; the empty set (`NOTHING`) is a value that never
arrives. Atoms and values are interned, so `is` compares them and joins are memoised. Questions for rules:

    value.is_tensor()      something in it is a tensor      value.tensors()     its tensors
    value.only_tensors()   nothing else is                  value.constants()   its constants, None included
    value.is_primitive()   only ints, floats, strings …     value.is_unknown()  may be anything
    value.objects()        its objects (by allocation site) value.holds_tensor()  containers of tensors, too

What only the heap knows (the elements of a list, the attributes of an object) is in `heap.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop.source.interpret.heap import Frame, Object
    from strop.source.project.declarations import Class, Code, Module

PARTIAL_METHOD = "functools.partialmethod"
MAX_DEPTH = 4
MAX_ITEMS = 64
MAX_NESTED = 4  #: containers in containers that are looked into for a tensor
_serial = count(1)
SERIAL = attrgetter("serial")


class Atom:
    """One thing that a value may be. Interned by its subclass: equality is identity."""

    __slots__ = ("_value", "serial")
    is_object = False  #: True for `heap.Object`, which this module cannot import

    def __init__(self) -> None:
        self.serial = next(_serial)
        self._value: Value | None = None

    @property
    def value(self) -> Value:
        """The value that is only this."""
        if self._value is None:
            self._value = Value((self,))
        return self._value

    def release(self) -> None:
        """Cut the circle with its own value; nobody uses the atom any more."""
        self._value = None

    def describe(self) -> str:
        return type(self).__name__.lower()

    def contents(self) -> Value:
        """What is inside an object that is a container."""
        return NOTHING

    def is_library_instance(self) -> bool:
        """Whether it is an object of a library's class, such as a layer, and no container."""
        return False


class Const(Atom):
    """A number, string, bytes, bool, None or Ellipsis whose value is known."""

    __slots__ = ("constant", "type")

    def __init__(self, constant: Any) -> None:
        super().__init__()
        self.constant = constant
        self.type = type(constant).__name__

    def describe(self) -> str:
        text = repr(self.constant)
        return text if len(text) < 40 else text[:37] + "…"


class Primitive(Atom):
    """A number, string, bytes or bool of which only the type is known."""

    __slots__ = ("type",)

    def __init__(self, type: str) -> None:
        super().__init__()
        self.type = type

    def describe(self) -> str:
        return self.type


class Tensor(Atom):
    """A tensor (or numpy array). Shapes are tuples of ints and None; None as a whole: not even the rank is known."""

    __slots__ = ("dtype", "framework", "kind", "merged", "shape")

    def __init__(
        self, framework: str, kind: str, dtype: str | None, shape: tuple[int | None, ...] | None, merged: bool = False
    ) -> None:
        super().__init__()
        self.merged = merged  #: stands for many, and takes in whatever is joined with it: sets must not shrink again
        self.framework = framework  #: torch, tensorflow or numpy
        self.kind = kind  #: tensor, variable, symbolic, sparse, ragged, array
        self.dtype = dtype
        self.shape = shape

    def describe(self) -> str:
        shape = "" if self.shape is None else "[" + ", ".join("?" if d is None else str(d) for d in self.shape) + "]"
        return f"{self.framework} {self.kind} {self.dtype or ''}{shape}".strip()


class Tuple(Atom):
    """A tuple with known items; tuples are immutable, so no heap is needed."""

    __slots__ = ("depth", "items")

    def __init__(self, items: tuple[Value, ...]) -> None:
        super().__init__()
        self.items = items
        self.depth = 1 + max((item.depth() for item in items), default=0)

    def describe(self) -> str:
        return "tuple of " + ", ".join(item.describe() for item in self.items[:4])


class FunctionValue(Atom):
    """A function of the project; `frame` holds the variables that it captured."""

    __slots__ = ("code", "frame")

    def __init__(self, code: Code, frame: Frame | None) -> None:
        super().__init__()
        self.code = code
        self.frame = frame

    def describe(self) -> str:
        return f"function {self.code.name}"


class ClassAtom(Atom):
    """A class of the project."""

    __slots__ = ("cls",)

    def __init__(self, cls: Class) -> None:
        super().__init__()
        self.cls = cls

    def describe(self) -> str:
        return f"class {self.cls.name}"


class ModuleAtom(Atom):
    """A module of the project."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def describe(self) -> str:
        return f"module {self.module.name}"


class LibraryValue(Atom):
    """A module, function, class or constant of a library, by its canonical dotted name."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        super().__init__()
        self.dotted = dotted

    def describe(self) -> str:
        return self.dotted


class Bound(Atom):
    """A function (of the project or of a library) with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: FunctionValue | LibraryValue, receiver: Atom) -> None:
        super().__init__()
        self.function = function
        self.receiver = receiver

    def describe(self) -> str:
        return f"method {self.function.describe()}"


class Partial(Atom):
    """A function with some of its arguments; `by` is what made it, such as `functools.partial`."""

    __slots__ = ("args", "by", "function", "kwargs")

    def __init__(
        self, function: Value, args: tuple[Value, ...], kwargs: tuple[tuple[str, Value], ...], by: str
    ) -> None:
        super().__init__()
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.by = by


class Super(Atom):
    """`super()` inside a class, for a receiver."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Atom) -> None:
        super().__init__()
        self.cls = cls
        self.receiver = receiver


class Unknown(Atom):
    """Anything. `before`: it is known to have existed before the function `of` was called (an argument of a function
    that nobody calls, or something reached through one)."""

    __slots__ = ("before", "of", "why")

    def __init__(self, why: str, before: bool = False, of: str = "") -> None:
        super().__init__()
        self.why = why
        self.before = before
        self.of = of

    def describe(self) -> str:
        return f"unknown ({self.why})" if self.why else "unknown"


class Value:
    """A set of atoms in the order in which they were first seen."""

    __slots__ = ("_depth", "_set", "_tensor", "_unknown", "atoms")

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self._set: frozenset[Atom] | None = None
        self._depth = -1
        self._tensor: bool | None = None
        self._unknown: bool | None = None

    def __iter__(self) -> Iterator[Atom]:
        return iter(self.atoms)

    def __bool__(self) -> bool:
        return bool(self.atoms)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def depth(self) -> int:
        if self._depth < 0:
            self._depth = max((a.depth for a in self.atoms if isinstance(a, Tuple)), default=0)
        return self._depth

    def as_set(self) -> frozenset[Atom]:
        if self._set is None:
            self._set = frozenset(self.atoms)
        return self._set

    def describe(self) -> str:
        return " or ".join(atom.describe() for atom in self.atoms[:4]) or "nothing"

    def tensors(self) -> list[Tensor]:
        return [atom for atom in self.atoms if isinstance(atom, Tensor) and atom.kind != "array"]

    def arrays(self) -> list[Tensor]:
        return [atom for atom in self.atoms if isinstance(atom, Tensor) and atom.kind == "array"]

    def is_tensor(self) -> bool:
        if self._tensor is None:
            self._tensor = any(isinstance(atom, Tensor) and atom.kind != "array" for atom in self.atoms)
        return self._tensor

    def only_tensors(self) -> bool:
        return bool(self.atoms) and all(isinstance(atom, Tensor) and atom.kind != "array" for atom in self.atoms)

    def holds_tensor(self, depth: int = MAX_NESTED) -> bool:
        """A tensor, or a container with one in it, at most `depth` containers down. Objects hold each other in circles,
        so they are gone through level by level, each once."""
        level = self.atoms
        seen: set[Atom] = set()
        while True:
            for atom in level:
                if isinstance(atom, Tensor) and atom.kind != "array":
                    return True
            if not depth:
                return False
            depth -= 1
            inside: dict[Atom, None] = {}
            for atom in level:
                if isinstance(atom, Tuple):
                    for item in atom.items:
                        inside.update(dict.fromkeys(item.atoms))
                elif atom.is_object:
                    inside.update(dict.fromkeys(atom.contents().atoms))
            seen.update(level)
            level = tuple(atom for atom in inside if atom not in seen)

    def constants(self) -> list[Any]:
        return [atom.constant for atom in self.atoms if isinstance(atom, Const)]

    def constant(self) -> Any:
        """The one constant that this is, or None."""
        return self.atoms[0].constant if len(self.atoms) == 1 and isinstance(self.atoms[0], Const) else None

    def only(self, *types: str) -> bool:
        """Only constants and primitives of these Python types."""
        return bool(self.atoms) and all(isinstance(a, (Const, Primitive)) and a.type in types for a in self.atoms)

    def is_primitive(self) -> bool:
        """Only Python numbers and text; None and booleans are not among them."""
        return self.only("int", "float", "str", "bytes", "complex")

    def is_unknown(self) -> bool:
        if self._unknown is None:
            self._unknown = any(isinstance(atom, Unknown) for atom in self.atoms)
        return self._unknown

    def is_known(self) -> bool:
        return bool(self.atoms) and not self.is_unknown()

    def is_none(self) -> bool:
        return len(self.atoms) == 1 and self.atoms[0] is _const(None)

    def objects(self) -> list[Object]:
        return [atom for atom in self.atoms if atom.is_object]  # type: ignore[misc]

    def without_none(self) -> Value:
        none = _const(None)
        return self if none not in self.atoms else value_of(a for a in self.atoms if a is not none)


_atoms: dict[tuple[Any, ...], Atom] = {}
_values: dict[tuple[Atom, ...], Value] = {}
joined_values: dict[tuple[Value, Value], Value] = {}  #: what `joins.join` has found, forgotten with the values in it
NOTHING = Value(())


def forget() -> None:
    """Drop what was interned for an earlier program; constants and unknowns stay."""
    for key in [key for key in _atoms if key[0] not in ("const", "primitive", "unknown", "library")]:
        _atoms.pop(key).release()
    _values.clear()
    joined_values.clear()


def intern_atom(key: tuple[Any, ...], make: Any, *args: Any) -> Any:
    atom = _atoms.get(key)
    if atom is None:
        atom = _atoms[key] = make(*args)
    return atom


def _const(constant: Any) -> Const:
    return intern_atom(("const", constant.__class__, constant), Const, constant)  # type: ignore[no-any-return]


def const(constant: Any) -> Value:
    return _const(constant).value


def primitive(type: str) -> Value:
    return intern_atom(("primitive", type), Primitive, type).value  # type: ignore[no-any-return]


def tensor(
    framework: str, kind: str = "tensor", dtype: str | None = None, shape: tuple[int | None, ...] | None = None
) -> Value:
    key = ("tensor", framework, kind, dtype, shape)
    return intern_atom(key, Tensor, framework, kind, dtype, shape).value  # type: ignore[no-any-return]


def tuple_of(items: tuple[Value, ...]) -> Value:
    """A tuple with these items; what is nested too deeply or too long is given up."""
    if len(items) > MAX_ITEMS or any(item.depth() >= MAX_DEPTH for item in items):
        return unknown("a tuple too deep to follow")
    return intern_atom(("tuple", items), Tuple, items).value  # type: ignore[no-any-return]


def function(code: Code, frame: Frame | None) -> FunctionValue:
    return intern_atom(("function", code, frame), FunctionValue, code, frame)  # type: ignore[no-any-return]


def class_of(cls: Class) -> ClassAtom:
    return intern_atom(("class", cls), ClassAtom, cls)  # type: ignore[no-any-return]


def module_of(module: Module) -> Value:
    return intern_atom(("module", module), ModuleAtom, module).value  # type: ignore[no-any-return]


def library(dotted: str) -> LibraryValue:
    return intern_atom(("library", dotted), LibraryValue, dotted)  # type: ignore[no-any-return]


def bound(function: FunctionValue | LibraryValue, receiver: Atom) -> Bound:
    return intern_atom(("bound", function, receiver), Bound, function, receiver)  # type: ignore[no-any-return]


def partial(
    function: Value, args: tuple[Value, ...] = (), kwargs: tuple[tuple[str, Value], ...] = (), by: str = ""
) -> Partial:
    return intern_atom(("partial", function, args, kwargs, by), Partial, function, args, kwargs, by)  # type: ignore[no-any-return]


def super_of(cls: Class, receiver: Atom) -> Super:
    return intern_atom(("super", cls, receiver), Super, cls, receiver)  # type: ignore[no-any-return]


def unknown(why: str = "", before: bool = False, of: str = "") -> Value:
    return intern_atom(("unknown", why, before, of), Unknown, why, before, of).value  # type: ignore[no-any-return]


UNKNOWN = unknown()
NONE = const(None)


def value_of(atoms: Iterable[Atom]) -> Value:
    """The value that may be any of these atoms."""
    found = tuple(atoms)
    if not found:
        return NOTHING
    if len(found) == 1:
        return found[0].value
    return intern_value(tuple(sorted(set(found), key=SERIAL)))


def intern_value(atoms: tuple[Atom, ...]) -> Value:
    if len(atoms) == 1:
        return atoms[0].value
    value = _values.get(atoms)
    if value is None:
        value = _values[atoms] = Value(atoms)
    return value
