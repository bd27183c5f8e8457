"""Elements of things: iterating, unpacking, `x[i]` and `x[i] = y`."""

from __future__ import annotations

import ast
from typing import Any

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.classes import Attributes, tensor_class
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    ClassAtom,
    Const,
    LibraryValue,
    Primitive,
    Tensor,
    Tuple,
    Unknown,
    Value,
    primitive,
    tensor,
    tuple_of,
    unknown,
)
from strop.source.project.declarations import Class

_MISSING = object()
_CONTAINERS = ("list", "tuple", "set", "frozenset", "iterator", "generator")


class Containers(Attributes):
    """What is inside tuples, lists, dicts, tensors and objects that act like them."""

    # -- iterating -------------------------------------------------------------------------------------------------

    def iterate(self, value: Value, at: ast.AST) -> Value:
        """What a `for` over the value sees."""
        if len(value.atoms) == 1:
            return self._element(value.atoms[0], at)
        return join_all([self._element(atom, at) for atom in value.atoms])

    def _element(self, atom: Atom, at: ast.AST) -> Value:
        if isinstance(atom, Tuple):
            return join_all(atom.items)
        if isinstance(atom, Object):
            return self._element_of_object(atom, at)
        if isinstance(atom, Tensor):
            shape = atom.shape[1:] if atom.shape else None
            return tensor(atom.framework, "tensor" if atom.kind == "variable" else atom.kind, atom.dtype, shape)
        if isinstance(atom, (Const, Primitive)):
            return primitive("int" if atom.type == "bytes" else "str") if atom.type in ("str", "bytes") else NOTHING
        if isinstance(atom, Unknown):
            return atom.value
        if isinstance(atom, ClassAtom):
            members = self.program.members.get(atom.cls, {})
            return join_all([self.attribute(atom.value, name, at) for name in members if not name.startswith("_")])
        return UNKNOWN

    def _element_of_object(self, obj: Object, at: ast.AST) -> Value:
        if obj.kind in _CONTAINERS:
            return self.read_contents(obj)
        if obj.kind == "dict":
            self.look_into(obj)
            return obj.all_keys()
        if isinstance(obj.cls, Class):
            found = self.find_member(self.order(obj.cls), "__iter__")
            if found is not None:
                iterator = self.call(self.attribute(obj.value, "__iter__", at), CallArguments(), at)
                inner = [a for a in iterator.atoms if not (isinstance(a, Object) and isinstance(a.cls, Class))]
                steps = [a for a in iterator.atoms if isinstance(a, Object) and isinstance(a.cls, Class)]
                elements = [self._element(atom, at) for atom in inner]
                elements += [self.call(self.attribute(a.value, "__next__", at), CallArguments(), at) for a in steps]
                return join_all(elements)
            getter = self.find_member(self.order(obj.cls), "__getitem__")
            if getter is not None and isinstance(getter[0], Class):
                return self.call(self.attribute(obj.value, "__getitem__", at), CallArguments([primitive("int")]), at)
            if self.has_stranger_base(obj.cls):
                return self._library_element(obj, at)
            if obj.items or obj.wild.atoms:
                return self.read_contents(obj)
            return UNKNOWN
        return self._library_element(obj, at)

    def _library_element(self, obj: Object, at: ast.AST) -> Value:
        owners = [obj.cls] if isinstance(obj.cls, str) else [c for c in self.order(obj.cls) if isinstance(c, str)]
        for owner in owners:
            for name in ("__iter__", "__next__"):
                if self.apis.method(owner, name) is not None:
                    return self.call(self.library_attribute(owner, obj, name, at), CallArguments(), at)
        if obj.items or obj.wild.atoms:
            return self.read_contents(obj)
        return unknown(f"elements of `{obj.class_name()}`")

    def positions(self, value: Value, at: ast.AST) -> list[Value] | None:
        """The elements one by one, where their number is known."""
        found: list[list[Value]] = []
        for atom in value.atoms:
            if isinstance(atom, Tuple):
                found.append(list(atom.items))
            elif isinstance(atom, Object) and (
                atom.kind in ("list", "iterator") or (atom.kind == "instance" and atom.items)
            ):
                self.look_into(atom)
                known = atom.positions()
                if known is None:
                    return None
                found.append(known)
            else:
                return None
        if not found or len({len(items) for items in found}) != 1:
            return None
        return [join_all(column) for column in zip(*found)]

    def unpack(self, value: Value, count: int, star: int | None, at: ast.AST) -> list[Value]:
        """The values of `a, b = …`; the starred one is a list."""
        rows: list[list[Value]] = []
        for atom in value.atoms:
            known = self.positions(atom.value, at)
            if known is not None and star is not None and len(known) >= count - 1:
                tail = count - star - 1
                middle = known[star : len(known) - tail]
                starred = self.container(at, "list", join_all(middle))
                rows.append([*known[:star], starred, *known[len(known) - tail :]])
            elif known is not None and star is None and len(known) == count:
                rows.append(known)
            else:
                element = self._element(atom, at)
                row = [element] * count
                if star is not None:
                    row[star] = self.container(at, "list", element)
                rows.append(row)
        if not rows:
            return [NOTHING] * count
        return [join_all(column) for column in zip(*rows)]

    # -- subscripts ------------------------------------------------------------------------------------------------

    def item(self, value: Value, index: Value, at: ast.AST, slice_node: ast.AST | None = None) -> Value:
        """`value[index]`."""
        is_slice = isinstance(slice_node, ast.Slice)
        result = join_all([self._item(atom, index, at, is_slice, slice_node) for atom in value.atoms])
        if index.is_tensor() and not value.is_tensor() and value.is_known():
            self.note_operator(at, "builtins.list.__getitem__", [value, index], result)
        return result

    def _item(self, atom: Atom, index: Value, at: ast.AST, is_slice: bool, slice_node: ast.AST | None) -> Value:
        if isinstance(atom, Tensor):
            result = _indexed(atom, index, is_slice)
            self.note_operator(at, f"{tensor_class(atom)}.__getitem__", [atom.value, index], result)
            return result
        key = _key(index)
        if isinstance(atom, Tuple):
            if is_slice:
                return self._tuple_slice(atom, slice_node)
            if isinstance(key, int) and -len(atom.items) <= key < len(atom.items):
                return atom.items[key]
            return join_all(atom.items)
        if isinstance(atom, Object):
            return self._item_of_object(atom, index, key, at, is_slice, slice_node)
        if isinstance(atom, (Const, Primitive)):
            return primitive(atom.type) if atom.type in ("str", "bytes") else NOTHING
        if isinstance(atom, (LibraryValue, ClassAtom)):
            return atom.value
        if isinstance(atom, Unknown):
            return atom.value
        return UNKNOWN

    def _item_of_object(
        self, obj: Object, index: Value, key: Any, at: ast.AST, is_slice: bool, slice_node: ast.AST | None
    ) -> Value:
        if obj.kind in ("list", "iterator", "generator"):
            self.look_into(obj)
            if is_slice:
                return self._list_slice(obj, at, slice_node)
            if isinstance(key, int) and not isinstance(key, bool) and not obj.shuffled:
                place = key if key >= 0 else key + len(obj.items)
                if place in obj.items and (key >= 0 or not obj.wild.atoms):
                    return obj.items[place]
            return obj.contents()
        if obj.kind == "dict":
            self.look_into(obj)
            if key is not _MISSING and isinstance(key, (str, int, bool, float, bytes)):
                found = obj.items.get(key, NOTHING)
                if found.atoms:
                    return join(found, obj.wild) if obj.keys.atoms else found
            return obj.contents()
        if isinstance(obj.cls, Class):
            found_member = self.find_member(self.order(obj.cls), "__getitem__")
            if found_member is not None:
                return self.call(self.attribute(obj.value, "__getitem__", at), CallArguments([index]), at)
            if obj.items or obj.wild.atoms:
                return self.read_contents(obj)
            return UNKNOWN
        api = self.apis.method(obj.cls, "__getitem__")
        if api is not None:
            return self.call(self.library_attribute(obj.cls, obj, "__getitem__", at), CallArguments([index]), at)
        if obj.items or obj.wild.atoms:
            return self.read_contents(obj)
        return unknown(f"elements of `{obj.class_name()}`")

    def _tuple_slice(self, atom: Tuple, node: ast.AST | None) -> Value:
        bounds = _bounds(node)
        return tuple_of(atom.items[bounds]) if bounds is not None else tuple_of(atom.items[:0])

    def _list_slice(self, obj: Object, at: ast.AST, node: ast.AST | None) -> Value:
        known, bounds = obj.positions(), _bounds(node)
        if known is not None and bounds is not None:
            return self.sequence(at, "list", known[bounds])
        return self.container(at, "list", obj.contents())

    def store_item(self, target: ast.Subscript, owner: Value, index: Value, value: Value, at: ast.AST) -> None:
        """`owner[index] = value`."""
        key = _key(index)
        written: list[Atom] = []
        if owner.arrays() and not self._made_here(target.value):
            self.note_write(at, "element", target, "global", value)
        for atom in owner.atoms:
            if isinstance(atom, (Const, Primitive, Tuple)) or (isinstance(atom, Tensor) and atom.kind == "array"):
                continue
            written.append(atom)
            if not isinstance(atom, Object):
                continue
            if isinstance(atom.cls, Class) and self.find_member(self.order(atom.cls), "__setitem__") is not None:
                written.pop()
                self.call(self.attribute(atom.value, "__setitem__", at), CallArguments([index, value]), at)
            elif isinstance(target.slice, ast.Slice):
                self.program.put_wild(atom, self.iterate(value, at), shuffle=True)
            elif (key is not _MISSING and isinstance(key, (str, int, float, bool, bytes)) and atom.kind == "dict") or (
                isinstance(key, int) and key in atom.items and not atom.shuffled
            ):
                self.program.put_items(atom, {key: value})
            else:
                self.program.put_wild(atom, value, index if atom.kind == "dict" else NOTHING)
        if written:
            self.note_write(at, "element", target, join_all([atom.value for atom in written]), value)

    def _made_here(self, node: ast.expr) -> bool:
        """Arrays have no allocation site: those in local variables that are no parameters count as made here."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        code = self.code
        bound = {p.name for p in code.parameters} | code.globals | code.nonlocals
        return (node.id in code.locals and node.id not in bound) or self.is_module

    def note_operator(self, at: ast.AST, target: str, operands: list[Value], result: Value) -> None:
        """An operator on tensors is a call of the tensor's method."""
        self.note(at, "call", [target], [], operands[0], operands[1:], {}, result, None)


def _key(index: Value) -> Any:
    if len(index.atoms) == 1 and isinstance(index.atoms[0], Const):
        return index.atoms[0].constant
    return _MISSING


def _bounds(node: ast.AST | None) -> slice | None:
    if not isinstance(node, ast.Slice):
        return None
    parts: list[int | None] = []
    for part in (node.lower, node.upper, node.step):
        negative = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
        inner = part.operand if isinstance(part, ast.UnaryOp) else part
        if inner is None:
            parts.append(None)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, int) and (inner is part or negative):
            parts.append(-inner.value if negative else inner.value)
        else:
            return None
    return slice(*parts) if parts[2] != 0 else None


def _indexed(atom: Tensor, index: Value, is_slice: bool) -> Value:
    """One element along the first axis, or a part of unknown shape."""
    kind = "tensor" if atom.kind == "variable" else atom.kind
    if is_slice and atom.shape:
        return tensor(atom.framework, kind, atom.dtype, (None, *atom.shape[1:]))
    if index.only("int") and atom.shape:
        return tensor(atom.framework, kind, atom.dtype, atom.shape[1:])
    return tensor(atom.framework, kind, atom.dtype)
