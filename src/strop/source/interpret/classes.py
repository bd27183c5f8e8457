"""Attributes: method resolution order, `super()`, properties, class members, modules, attributes of library things."""

from __future__ import annotations

import ast

from strop.source.interpret.activation import Activation, CallArguments
from strop.source.interpret.heap import Cell, Frame, Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import (
    NOTHING,
    PARTIAL_METHOD,
    UNKNOWN,
    Atom,
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    LibraryValue,
    ModuleAtom,
    Partial,
    Primitive,
    Super,
    Tensor,
    Tuple,
    Unknown,
    Value,
    bound,
    class_of,
    const,
    library,
    module_of,
    partial,
    unknown,
)
from strop.source.project.declarations import Class, Code

UNKNOWN_BASE = "?"
_VARIABLES = ("trainable_variables", "trainable_weights", "variables", "weights")
_TENSOR_CLASSES = {
    ("tensorflow", "variable"): "tensorflow.Variable",
    ("tensorflow", "sparse"): "tensorflow.SparseTensor",
    ("tensorflow", "ragged"): "tensorflow.RaggedTensor",
    ("torch", "parameter"): "torch.nn.Parameter",
}


def tensor_class(atom: Tensor) -> str:
    """The library class of a tensor."""
    if atom.kind == "array":
        return "numpy.ndarray"
    return _TENSOR_CLASSES.get((atom.framework, atom.kind), f"{atom.framework}.Tensor")


class Attributes(Activation):
    """Reading and writing `x.name`."""

    # -- classes ---------------------------------------------------------------------------------------------------

    def order(self, cls: Class) -> tuple[Class | str, ...]:
        """The method resolution order; libraries' classes by name, `?` for bases that nobody knows."""
        known = self.program.orders.get(cls)
        if known is not None:
            return known
        self.program.orders[cls] = (cls,)  # against circles
        self.program.asked.add(cls)
        bases: list[Class | str] = []
        for value in self.program.bases.get(cls, ()):
            for atom in value.atoms:
                if isinstance(atom, ClassAtom):
                    bases.append(atom.cls)
                elif isinstance(atom, LibraryValue):
                    bases.append(atom.dotted)
                elif isinstance(atom, Object) and isinstance(atom.cls, str):
                    bases.append(atom.cls)
                else:
                    bases.append(UNKNOWN_BASE)
        chains: list[list[Class | str]] = [
            [*(self.order(b) if isinstance(b, Class) else self.apis.mro(b))] for b in bases
        ]
        order = (cls, *_linearised([*chains, list(bases)]))
        self.program.orders[cls] = order
        return order

    def member_cell(self, cls: Class, name: str) -> Cell | None:
        return self.program.members.get(cls, {}).get(name)

    def find_member(self, order: tuple[Class | str, ...], name: str) -> tuple[Class | str, Value] | None:
        """Where a class attribute is defined, and what it is."""
        key = order, name
        known = self.program.found
        if key not in known:
            known[key] = self._find_member(order, name)
        found = known[key]
        if found is None:
            return None
        owner, member = found
        return owner, self.read(member) if isinstance(member, Cell) else member

    def _find_member(self, order: tuple[Class | str, ...], name: str) -> tuple[Class | str, Cell | Value] | None:
        for cls in order:
            if isinstance(cls, Class):
                cell = self.member_cell(cls, name)
                if cell is not None:
                    return cls, cell
            elif cls != UNKNOWN_BASE and (found := self._library_member(cls, name)) is not None:
                return cls, found
        return None

    def _library_member(self, owner: str, name: str) -> Value | None:
        api = self.apis.functions.get(f"{owner}.{name}")
        return library(api.name).value if api is not None else None

    def is_subclass(self, cls: Class, dotted: str) -> bool:
        return dotted in self.order(cls)

    def has_stranger_base(self, cls: Class) -> bool:
        """A base that is neither of the project nor listed: attributes may come from it."""
        return any(isinstance(base, str) and base != "builtins.object" for base in self.order(cls))

    # -- reading ---------------------------------------------------------------------------------------------------

    def attribute(self, value: Value, name: str, at: ast.AST) -> Value:
        if len(value.atoms) == 1:
            return self._of_atom(value.atoms[0], name, at)
        return join_all([self._of_atom(atom, name, at) for atom in value.atoms])

    def _of_atom(self, atom: Atom, name: str, at: ast.AST) -> Value:
        if atom.is_object:
            return self._of_object(atom, name, at)  # type: ignore[arg-type]
        if isinstance(atom, LibraryValue):
            return self._of_library(atom.dotted, name, at)
        if isinstance(atom, Tensor):
            return self.library_attribute(tensor_class(atom), atom, name, at)
        if isinstance(atom, Unknown):
            return atom.value
        if isinstance(atom, ModuleAtom):
            return self.module_attribute(atom, name)
        if isinstance(atom, ClassAtom):
            return self._of_class(atom, name, at)
        if isinstance(atom, Super):
            return self._of_super(atom, name, at)
        if isinstance(atom, (Const, Primitive)):
            owner = "builtins.NoneType" if atom.type == "NoneType" else f"builtins.{atom.type}"
            return NOTHING if owner == "builtins.NoneType" else self.library_attribute(owner, atom, name, at)
        if isinstance(atom, Tuple):
            return self.library_attribute("builtins.tuple", atom, name, at)
        if isinstance(atom, FunctionValue):
            return self._of_function(atom, name, at)
        if isinstance(atom, Partial):
            return atom.function if name == "func" else UNKNOWN
        if isinstance(atom, Bound):
            if name == "__self__":
                return atom.receiver.value
            inner = atom.function
            return self._of_function(inner, name, at) if isinstance(inner, FunctionValue) else UNKNOWN
        return UNKNOWN

    def _of_function(self, atom: FunctionValue, name: str, at: ast.AST) -> Value:
        if name in ("__name__", "__qualname__"):
            return const(atom.code.short)
        if name in ("__call__", "python_function", "__wrapped__", "__func__"):
            return atom.value
        cell = self.program.function_attributes.get((atom.code, name))
        if cell is not None:
            return self.read(cell)
        mark = self.program.graphs.get(atom.code)
        if mark is not None:
            return bound(library(f"{mark.by}.{name}"), atom).value
        return unknown(f"attribute `{name}` of a function")

    def _of_object(self, obj: Object, name: str, at: ast.AST) -> Value:
        if isinstance(obj.cls, str):
            cell = obj.attributes.get(name)
            if cell is not None and cell.value.atoms:
                return self.read(cell)
            self.reads.sizes.append((obj.attributes, len(obj.attributes)))
            if cell is not None:
                self.reads.cells.append((cell, cell.value))
            return self.library_attribute(obj.cls, obj, name, at)
        order = self.order(obj.cls)
        found = self.find_member(order, name)
        if found is not None and self._is_property(found[1]):
            return self._bind(found[1], obj, obj.cls, at)
        cell = obj.attributes.get(name)
        if cell is None:
            if found is not None:
                obj_value = self._bind(found[1], obj, obj.cls, at)
                if not self._plain_data(found[1]):
                    return obj_value
                cell = obj.attributes[name] = Cell()
                return join(obj_value, self.read(cell))
            cell = obj.attributes[name] = Cell()
        value = self.read(cell)
        if value.atoms and not isinstance(at, ast.AugAssign):
            self.note(at, "read attribute", name, cell, obj)
        if found is not None:
            return (
                join(value, self._bind(found[1], obj, obj.cls, at)) if not value.atoms or obj.owner is None else value
            )
        self.reads.objects.append((obj, obj.version))
        if value.atoms:
            return join(value, obj.wild) if obj.kind == "instance" else value
        return self._missing(obj, cell, order, name, at)

    def _missing(self, obj: Object, cell: Cell, order: tuple[Class | str, ...], name: str, at: ast.AST) -> Value:
        """Not set yet: by a base class of a library, by `__getattr__`, or by something that has not run so far."""
        if name == "__class__":
            return class_of(obj.cls).value if isinstance(obj.cls, Class) else UNKNOWN
        if name == "__dict__":
            members = self.program.allocate(obj.owner, at, "dict", "builtins.dict")  # as old as the object itself
            cells = list(obj.attributes.values())
            self.reads.sizes.append((obj.attributes, len(cells)))
            self.reads.cells += [(c, c.value) for c in cells]
            self.program.put_wild(members, join_all([c.value for c in cells]))
            return members.value
        for base in order:
            if isinstance(base, str) and (described := self.apis.values.get(f"{base}.{name}")) is not None:
                return self._described(described, obj, name, at)
        getter = self.find_member(order, "__getattr__")
        if getter is not None and isinstance(getter[0], Class):
            return self.call(self._bind(getter[1], obj, obj.cls, at), CallArguments([const(name)]), at)
        if obj.wild.atoms:
            return obj.wild
        known = [base for base in order if isinstance(base, str) and base not in ("builtins.object", UNKNOWN_BASE)]
        if known and self.apis.is_known(known[0]) and not name.startswith("_"):
            self.program.empty_reads[cell] = bound(library(f"{known[0]}.{name}"), obj).value
            return NOTHING
        self.program.empty_reads[cell] = unknown(f"attribute `{name}` that nothing assigns", before=obj.owner is None)
        return NOTHING

    @staticmethod
    def _plain_data(value: Value) -> bool:
        return not any(isinstance(atom, (FunctionValue, LibraryValue, Partial)) for atom in value.atoms)

    @staticmethod
    def _is_property(value: Value) -> bool:
        return any(isinstance(a, FunctionValue) and a.code.is_property for a in value.atoms)

    def _bind(self, value: Value, receiver: Atom, cls: Class | str, at: ast.AST) -> Value:
        """A class attribute as seen through an instance."""
        results = []
        for atom in value.atoms:
            if isinstance(atom, FunctionValue):
                if atom.code.is_property:
                    results.append(self.call(bound(atom, receiver).value, CallArguments(), at))
                elif atom.code.is_static:
                    results.append(atom.value)
                elif atom.code.is_class_method:
                    owner = class_of(cls) if isinstance(cls, Class) else receiver
                    results.append(bound(atom, owner).value)
                else:
                    results.append(bound(atom, receiver).value)
            elif isinstance(atom, LibraryValue) and self.apis.is_class(atom.dotted):
                results.append(atom.value)
            elif isinstance(atom, LibraryValue):
                results.append(bound(atom, receiver).value)
            elif isinstance(atom, Object) and isinstance(atom.cls, Class):
                results.append(self._descriptor(atom, receiver, at))
            elif isinstance(atom, Partial) and atom.by == PARTIAL_METHOD:
                results.append(partial(atom.function, (receiver.value, *atom.args), atom.kwargs, atom.by).value)
            else:
                results.append(atom.value)
        return join_all(results)

    def _descriptor(self, obj: Object, receiver: Atom, at: ast.AST) -> Value:
        assert isinstance(obj.cls, Class)
        getter = self.find_member(self.order(obj.cls), "__get__")
        if getter is None or not isinstance(getter[0], Class):
            return obj.value
        return self.call(self._bind(getter[1], obj, obj.cls, at), CallArguments([receiver.value, UNKNOWN]), at)

    def _of_class(self, atom: ClassAtom, name: str, at: ast.AST) -> Value:
        found = self.find_member(self.order(atom.cls), name)
        if found is None:
            if name in ("__name__", "__qualname__"):
                return const(atom.cls.node.name)
            if name == "__class__":
                return UNKNOWN
            if name == "__members__":
                return UNKNOWN
            if self.has_stranger_base(atom.cls):
                base = next(b for b in self.order(atom.cls) if isinstance(b, str))
                return bound(library(f"{base}.{name}"), atom).value if base != UNKNOWN_BASE else UNKNOWN
            cell = self.program.member_cell(atom.cls, name)
            self.program.empty_reads[cell] = unknown(f"class attribute `{name}` that nothing assigns")
            return self.read(cell)
        results = []
        for member in found[1].atoms:
            if isinstance(member, FunctionValue) and member.code.is_class_method:
                results.append(bound(member, atom).value)
            elif isinstance(member, (Const, Primitive, Tuple)) and self._is_enum(atom.cls):
                results.append(self._enum_member(atom.cls, name, member, found[1], at))
            else:
                results.append(member.value)
        own = self.member_cell(found[0], name) if isinstance(found[0], Class) else None
        if own is not None:
            self.note(at, "read attribute", name, own, atom)
        return join_all(results)

    def _is_enum(self, cls: Class) -> bool:
        return any(isinstance(b, str) and b.startswith("enum.") for b in self.order(cls))

    def _enum_member(self, cls: Class, name: str, member: Atom, value: Value, at: ast.AST) -> Value:
        obj = self.program.allocate(None, self.program.members[cls][name], f"enum {name}", cls)
        obj.kind = "instance"
        self.program.write(obj.attributes.setdefault("value", Cell()), member.value)
        self.program.write(obj.attributes.setdefault("name", Cell()), const(name))
        return obj.value

    def _of_super(self, atom: Super, name: str, at: ast.AST) -> Value:
        receiver = atom.receiver
        cls = receiver.cls if isinstance(receiver, (Object, ClassAtom)) else atom.cls
        order = self.order(cls) if isinstance(cls, Class) else (atom.cls,)
        rest = order[order.index(atom.cls) + 1 :] if atom.cls in order else self.order(atom.cls)[1:]
        found = self.find_member(rest, name)
        if found is not None:
            return self._bind(found[1], receiver, found[0], at)
        for base in rest:
            if isinstance(base, str) and base != UNKNOWN_BASE:
                return bound(library(f"{base}.{name}"), receiver).value
        if UNKNOWN_BASE in rest:
            return unknown(f"`{name}` of an unknown base class")
        return bound(library(f"builtins.object.{name}"), receiver).value

    def module_attribute(self, atom: ModuleAtom, name: str) -> Value:
        module = atom.module
        frame = self.program.module_frame(module)
        if name in module.code.locals or name in frame.cells:
            self.program.late.do(frame, name)
            cell = frame.cells.get(name)
            if cell is None:
                cell = frame.cells[name] = Cell()
            value = self.read(cell)
            if value.atoms:
                return value
        if (starred := self.program.stars.find(self.program, module, name)) is not None:
            return self.read(starred)
        if (sub := self.program.submodule(module, name)) is not None:
            return module_of(sub)
        if name == "__name__":
            return const(module.name)
        cell = frame.cells.setdefault(name, Cell())
        self.program.empty_reads[cell] = unknown(f"`{name}` of module `{module.name}`")
        return self.read(cell)

    def _of_library(self, dotted: str, name: str, at: ast.AST) -> Value:
        full = self.apis.canonical(f"{dotted}.{name}")
        described = self.apis.values.get(full)
        if described is not None and not self.apis.is_class(dotted):
            return self.describe_value(described, library(dotted), at)
        if full not in self.apis.functions and dotted in self.apis.classes:
            api = self.apis.method(dotted, name)
            if api is not None:
                return library(api.name).value
        return library(full).value

    def library_attribute(self, owner: str, atom: Atom, name: str, at: ast.AST) -> Value:
        """An attribute of an instance of a library's class."""
        described = self.apis.value(owner, name)
        if described is not None:
            return self._described(described, atom, name, at)
        api = self.apis.method(owner, name)
        if api is not None:
            return bound(library(api.name), atom).value
        if owner == "builtins.dict" and isinstance(atom, Object) and name in atom.items:
            return atom.items[name]
        return bound(library(f"{owner}.{name}"), atom).value

    def _described(self, described: tuple[ast.expr, str], atom: Atom, name: str, at: ast.AST) -> Value:
        value = self.describe_value(described, atom, at)
        if name in _VARIABLES and isinstance(atom, Object):
            self.note(at, "read variables", name, value, atom.value)
        return value

    def describe_value(self, described: tuple[ast.expr, str], receiver: Atom, at: ast.AST) -> Value:
        raise NotImplementedError

    # -- writing ---------------------------------------------------------------------------------------------------

    def store_attribute(
        self, target: ast.Attribute, owner: Value, value: Value, at: ast.AST, kind: str = "attribute"
    ) -> None:
        name = target.attr
        plain: list[Atom] = []
        for atom in owner.atoms:
            if isinstance(atom, Object):
                plain.append(atom)
                self._store_on(atom, name, value, at)
            elif isinstance(atom, ClassAtom):
                self.note_write(at, kind, target, atom.value, value)
                cell = self.program.member_cell(atom.cls, name)
                self.write(cell, value)
            elif isinstance(atom, ModuleAtom):
                self.note_write(at, kind, target, "global", value)
                self.write(self.program.module_frame(atom.module).cells.setdefault(name, Cell()), value)
            elif isinstance(atom, FunctionValue):
                self.note_write(at, kind, target, _home(atom), value)
                self.write(self.program.function_attributes.setdefault((atom.code, name), Cell()), value)
            elif isinstance(atom, LibraryValue):
                self.note_write(at, kind, target, "global", value)
            elif not isinstance(atom, (Const, Primitive)):
                plain.append(atom)
        if plain:
            kept = join_all([atom.value for atom in plain])
            self.note_write(at, kind, target, kept, value)

    def _store_on(self, obj: Object, name: str, value: Value, at: ast.AST) -> None:
        if isinstance(obj.cls, Class):
            order = self.order(obj.cls)
            setter = self.find_member(order, f"{name}.setter")
            if setter is not None:
                self.call(self._bind_plain(setter[1], obj), CallArguments([value]), at)
                return
            custom = self.find_member(order, "__setattr__")
            if custom is not None and isinstance(custom[0], Class):
                self.call(self._bind_plain(custom[1], obj), CallArguments([const(name), value]), at)
        cell = obj.attributes.get(name)
        if cell is None:
            cell = obj.attributes[name] = Cell()
        self.write(cell, value)

    @staticmethod
    def _bind_plain(value: Value, receiver: Atom) -> Value:
        return join_all([bound(atom, receiver).value for atom in value.atoms if isinstance(atom, FunctionValue)])


def is_accessor(code: Code) -> str:
    """`setter` or `deleter` for the other halves of a property."""
    return next((word for word in ("setter", "deleter") if code.decorated(word)), "")


def _home(atom: FunctionValue) -> Value | Frame | str:
    return atom.frame if atom.frame is not None and atom.frame.parent is not None else "global"


def _linearised(chains: list[list[Class | str]]) -> list[Class | str]:
    """C3; where it does not work out, in the order of first sight."""
    result: list[Class | str] = []
    chains = [chain for chain in chains if chain]
    while chains:
        for chain in chains:
            head = chain[0]
            if not any(head in other[1:] for other in chains):
                break
        else:
            head = chains[0][0]
        if head not in result:
            result.append(head)
        chains = [rest for chain in chains if (rest := [c for c in chain if c != head])]
    return result
