"""Structures of tensors: what data becomes as a tensor, rows and batches of datasets, gradients of nested variables."""

from __future__ import annotations

import ast

from strop.source.interpret.containers import Containers
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join_all, merged_shape
from strop.source.interpret.values import NOTHING, Const, Primitive, Tensor, Tuple, Value, tensor, tuple_of

Shape = tuple[int | None, ...] | None
ROW, WHOLE, BATCH = "row", "whole", "batch"
_NUMBERS = {
    "bool": "bool",
    "int": "int32",
    "float": "float32",
    "str": "string",
    "bytes": "string",
    "complex": "complex128",
}
_TORCH_NUMBERS = {"bool": "bool", "int": "int64", "float": "float32", "complex": "complex64"}
_NUMPY_NUMBERS = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}


class Structures(Containers):
    """Nested tuples and dicts of tensors, as datasets and tapes handle them."""

    def structure(self, value: Value, at: ast.AST, tag: int, form: str, depth: int = 4) -> Value:
        """Tuples and dicts keep their form; whatever else is in there becomes a tensor, one row of it, or a batch."""
        results = []
        for atom in value.atoms:
            if isinstance(atom, Tuple) and depth:
                results.append(tuple_of(tuple(self.structure(i, at, tag, form, depth - 1) for i in atom.items)))
            elif isinstance(atom, Object) and atom.kind == "dict" and depth:
                self.look_into(atom)
                obj = self.new(at, "dict", "builtins.dict", tag + atom.serial)
                items = {key: self.structure(v, at, tag, form, depth - 1) for key, v in atom.items.items()}
                self.program.put_items(obj, dict(items))
                self.program.put_wild(obj, self.structure(atom.wild, at, tag, form, depth - 1), atom.keys)
                results.append(obj.value)
            elif isinstance(atom, Object) and isinstance(atom.cls, str) and atom.cls.endswith("Dataset"):
                results.append(atom.value)
            else:
                shape = _reshaped(self.data_shape(atom.value), form)
                dtype = self.data_dtype(atom.value, "tensorflow")
                kind = atom.kind if isinstance(atom, Tensor) and atom.kind in ("sparse", "ragged") else "tensor"
                results.append(tensor("tensorflow", kind, dtype, shape))
        return join_all(results)

    def gradients(self, sources: Value, at: ast.AST, tag: int) -> Value:
        """One tensor per source, in the same structure."""
        results = []
        for atom in sources.atoms:
            if isinstance(atom, Tensor):
                results.append(tensor(atom.framework, "tensor", atom.dtype, atom.shape))
            elif isinstance(atom, Tuple):
                results.append(tuple_of(tuple(self.gradients(item, at, tag) for item in atom.items)))
            elif isinstance(atom, Object) and atom.kind == "dict":
                results.append(self.container(at, "dict", tensor("tensorflow"), atom.all_keys(), tag))
            else:
                results.append(self.container(at, "list", tensor("tensorflow"), NOTHING, tag))
        return join_all(results)

    def zipped(self, given: list[Value], at: ast.AST) -> Value:
        """`Dataset.zip(a, b)` and `Dataset.zip((a, b))`."""
        parts = given
        if len(given) == 1:
            parts = self.positions(given[0], at) or given
        return tuple_of(tuple(self.iterate(part, at) for part in parts))

    def training_batch(self, parts: list[Value], at: ast.AST, tag: int) -> Value:
        """What `fit(x, y)` hands to `train_step`."""
        data = self.datasets(parts[0])
        if data.atoms:
            return self.iterate(data, at)
        return tuple_of(tuple(self.structure(part, at, tag, WHOLE) for part in parts if part.atoms))

    def training_example(self, x: Value, at: ast.AST, tag: int) -> Value:
        """What `fit(x, y)` hands to the model itself."""
        data = self.datasets(x)
        if not data.atoms:
            return self.structure(x, at, tag, WHOLE)
        element = self.iterate(data, at)
        return join_all([a.items[0] if isinstance(a, Tuple) and a.items else a.value for a in element.atoms])

    @staticmethod
    def datasets(value: Value) -> Value:
        return join_all([o.value for o in value.objects() if isinstance(o.cls, str) and o.cls.endswith("Dataset")])

    def as_shape(self, value: Value) -> Shape:
        """A shape that is passed as an argument: `[2, 3]`, `(2, 3)` or `5`."""
        if len(value.atoms) != 1:
            return None
        atom = value.atoms[0]
        if isinstance(atom, Const) and isinstance(atom.constant, int):
            return (atom.constant,)
        items = self.positions(value, ast.Pass())
        if items is None:
            return None
        known = [item.constant() for item in items]
        return tuple(k if isinstance(k, int) and not isinstance(k, bool) and k >= 0 else None for k in known)

    def data_shape(self, value: Value, depth: int = 6) -> Shape:
        """The shape of the tensor that data would make."""
        if len(value.atoms) != 1 or not depth:
            return None
        atom = value.atoms[0]
        if isinstance(atom, Tensor):
            return atom.shape
        if isinstance(atom, (Const, Primitive)):
            return None if atom.type == "NoneType" else ()
        items = self.positions(value, ast.Pass())
        if items is None:
            return None
        if not items:
            return (0,)
        inner = merged_shape([self.data_shape(item, depth - 1) for item in items])
        return None if inner is None else (len(items), *inner)

    def data_dtype(self, value: Value, framework: str, depth: int = 6) -> str | None:
        numbers = {"torch": _TORCH_NUMBERS, "numpy": _NUMPY_NUMBERS}.get(framework, _NUMBERS)
        found: set[str | None] = set()
        for atom in value.atoms:
            if isinstance(atom, Tensor):
                found.add(atom.dtype)
            elif isinstance(atom, (Const, Primitive)):
                found.add(numbers.get(atom.type))
            elif isinstance(atom, Tuple) and depth:
                found |= {self.data_dtype(item, framework, depth - 1) for item in atom.items}
            elif isinstance(atom, Object) and depth and atom.kind in ("list", "tuple"):
                found.add(self.data_dtype(self.read_contents(atom), framework, depth - 1))
            else:
                return None
        if found == {numbers["int"], numbers["float"]}:
            return numbers["float"]
        return found.pop() if len(found) == 1 else None


def _reshaped(shape: Shape, form: str) -> Shape:
    if form == ROW:
        return shape[1:] if shape else None
    if form == BATCH:
        return None if shape is None else (None, *shape)
    return shape
