"""Operators: arithmetic, comparisons and boolean ones, on tensors, numbers, containers and overloading objects."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.calls import Calls
from strop.source.interpret.classes import tensor_class
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join, join_all, merged_shape
from strop.source.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    Const,
    Primitive,
    Tensor,
    Tuple,
    Unknown,
    Value,
    const,
    primitive,
    tensor,
    tuple_of,
)
from strop.source.project.declarations import Class

_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any] | None]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("truediv", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", None),
    ast.MatMult: ("matmul", None),
    ast.LShift: ("lshift", None),
    ast.RShift: ("rshift", None),
    ast.BitOr: ("or", operator.or_),
    ast.BitAnd: ("and", operator.and_),
    ast.BitXor: ("xor", operator.xor),
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_ANSWERS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_MAX_PAIRS = 16
_TENSORS = (Tensor, Tuple, Unknown)  #: what is a tensor as far as is known
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}


class Operators(Calls):
    """What operators give."""

    # -- operators -------------------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Value:
        return self.operate(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def operate(self, op: ast.operator, left: Value, right: Value, at: ast.AST, in_place: bool = False) -> Value:
        name, fold = _OPERATORS[op.__class__]
        tensors = [a for v in (left, right) for a in v.atoms if isinstance(a, Tensor)]
        if tensors:
            result = arithmetic(tensors, left, right, op)
            first = next((t for t in tensors if t.kind != "array"), tensors[0])
            prefix = "i" if in_place else ""
            if not (left.only_tensors() or right.only_tensors()):
                result = join(result, self._plain(name, fold, _no_tensors(left), _no_tensors(right), at))
            self.note_operator(at, f"{tensor_class(first)}.__{prefix}{name}__", [left, right], result)
            overloaded = self._overloaded(name, left, right, at)
            return overloaded if overloaded.atoms else result
        return self._plain(name, fold, left, right, at)

    def _overloaded(self, name: str, left: Value, right: Value, at: ast.AST) -> Value:
        """`a + tensor`, where the class of `a` says what that is."""
        results = []
        for own, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            for obj in own.objects():
                if isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), method) is not None:
                    results.append(self.call(self.attribute(obj.value, method, at), CallArguments([other]), at))
        return join_all(results)

    def _plain(
        self, name: str, fold: Callable[[Any, Any], Any] | None, left: Value, right: Value, at: ast.AST
    ) -> Value:
        results = []
        for a in left.atoms:
            for b in right.atoms:
                results.append(self._pair(name, fold, a, b, at))
            if len(results) > 24:
                break
        return join_all(results)

    def _pair(self, name: str, fold: Callable[[Any, Any], Any] | None, a: Atom, b: Atom, at: ast.AST) -> Value:
        if isinstance(a, (Const, Primitive)) and isinstance(b, (Const, Primitive)):
            return _scalars(name, fold, a, b)
        for own, other, method in ((a, b, f"__{name}__"), (b, a, f"__r{name}__")):
            if isinstance(own, Object) and isinstance(own.cls, Class):
                found = self.find_member(self.order(own.cls), method)
                if found is not None:
                    return self.call(self.attribute(own.value, method, at), CallArguments([other.value]), at)
        if isinstance(a, Tuple) and isinstance(b, Tuple) and name == "add":
            return tuple_of(a.items + b.items)
        kinds = {own.kind for own in (a, b) if isinstance(own, Object)}
        if kinds and kinds <= {"list", "set", "frozenset", "dict", "tuple"}:
            return self._combined(kinds, a, b, at)
        if isinstance(a, Tuple) and name == "mul":
            count = b.constant if isinstance(b, Const) and isinstance(b.constant, int) else -1
            return (
                tuple_of(a.items * count)
                if 0 <= count * len(a.items) <= 16
                else self.container(at, "tuple", join_all(a.items))
            )
        if isinstance(a, (Const, Primitive)) and a.type == "str" and name == "mod":
            return primitive("str")
        if isinstance(a, Object) and isinstance(a.cls, str) and self.apis.method(a.cls, f"__{name}__") is not None:
            return self.call(self.library_attribute(a.cls, a, f"__{name}__", at), CallArguments([b.value]), at)
        return UNKNOWN

    def _combined(self, kinds: set[str], a: Atom, b: Atom, at: ast.AST) -> Value:
        kind = "dict" if "dict" in kinds else "set" if "set" in kinds else "list" if "list" in kinds else kinds.pop()
        obj = self.new(at, kind, f"builtins.{kind}")
        for part in (a, b):
            if isinstance(part, Object):
                self.look_into(part)
                if kind == "dict":
                    self.program.put_items(obj, dict(part.items))
                    self.program.put_wild(obj, part.wild, part.keys)
                else:
                    self.program.put_wild(obj, part.contents())
            elif isinstance(part, (Unknown, Tuple)):
                self.program.put_wild(obj, self.iterate(part.value, at))
        return obj.value

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            self.note(node.operand, "branch", "bool", value)
            truth = value.constant()
            return const(not truth) if isinstance(truth, bool) else primitive("bool")
        name = _UNARY[node.op.__class__]
        results = []
        for atom in value.atoms:
            if isinstance(atom, Tensor):
                result = tensor(
                    atom.framework, "tensor" if atom.kind == "variable" else atom.kind, atom.dtype, atom.shape
                )
                self.note_operator(node, f"{tensor_class(atom)}.__{name}__", [value], result)
                results.append(result)
            elif isinstance(atom, Const) and type(atom.constant) in (int, float, complex) and name != "invert":
                results.append(const(-atom.constant if name == "neg" else atom.constant))
            elif isinstance(atom, (Const, Primitive)):
                results.append(primitive("int" if atom.type == "bool" else atom.type))
            elif isinstance(atom, Object) and isinstance(atom.cls, Class):
                results.append(self.call(self.attribute(atom.value, f"__{name}__", node), CallArguments(), node))
            else:
                results.append(UNKNOWN)
        return join_all(results)

    def _boolean(self, node: ast.BoolOp) -> Value:
        results = []
        for index, part in enumerate(node.values):
            value = self.evaluate(part)
            if index < len(node.values) - 1:
                self.note(part, "branch", "bool", value)
            results.append(value)
        return join_all(results)

    def _compare(self, node: ast.Compare) -> Value:
        left = self.evaluate(node.left)
        results = []
        for op, right_node in zip(node.ops, node.comparators):
            right = self.evaluate(right_node)
            results.append(self._comparison(op, left, right, node))
            left = right
        return results[0] if len(results) == 1 else join_all(results)

    def _comparison(self, op: ast.cmpop, left: Value, right: Value, at: ast.AST) -> Value:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return primitive("bool")
        if isinstance(op, (ast.In, ast.NotIn)):
            for obj in right.objects():
                if isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), "__contains__") is not None:
                    self.call(self.attribute(obj.value, "__contains__", at), CallArguments([left]), at)
            if right.is_tensor():
                self.note(at, "branch", "bool", right)
            return primitive("bool")
        name = _COMPARISONS[op.__class__]
        tensors = [a for v in (left, right) for a in v.atoms if isinstance(a, Tensor)]
        if tensors:
            first = next((t for t in tensors if t.kind != "array"), tensors[0])
            result = tensor(
                first.framework, "array" if first.kind == "array" else "tensor", "bool", _broadcast(tensors)
            )
            either = join(result, primitive("bool"))
            likely = any(v.is_tensor() and all(isinstance(a, _TENSORS) for a in v.atoms) for v in (left, right))
            self.note_operator(at, f"{tensor_class(first)}.__{name}__", [left, right], result if likely else either)
            certain = any(v.atoms and all(isinstance(a, (Tensor, Tuple)) for a in v.atoms) for v in (left, right))
            return result if certain else either
        for obj in left.objects():
            if isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), f"__{name}__") is not None:
                return self.call(self.attribute(obj.value, f"__{name}__", at), CallArguments([right]), at)
        if len(left.atoms) * len(right.atoms) > _MAX_PAIRS:
            return UNKNOWN if left.is_unknown() or right.is_unknown() else primitive("bool")
        return join_all([_compared(op, a, b) for a in left.atoms for b in right.atoms]) or primitive("bool")


def _no_tensors(value: Value) -> Value:
    return join_all([atom.value for atom in value.atoms if not isinstance(atom, Tensor)])


def _broadcast(tensors: list[Tensor]) -> tuple[int | None, ...] | None:
    shapes = [t.shape for t in tensors]
    if len(set(shapes)) == 1:
        return shapes[0]
    if any(shape is None for shape in shapes):
        return None
    longest = max((shape for shape in shapes if shape is not None), key=len)
    if all(shape == () or shape == longest for shape in shapes):
        return longest
    return merged_shape(list(shapes))


def arithmetic(tensors: list[Tensor], left: Value, right: Value, op: ast.operator) -> Value:
    """The tensor that an operator gives: numpy arrays yield to tensors, variables become tensors."""
    real = [t for t in tensors if t.kind != "array"] or tensors
    first = real[0]
    kind = next(
        (t.kind for t in real if t.kind in ("symbolic", "sparse", "ragged")),
        "array" if first.kind == "array" else "tensor",
    )
    dtypes = {t.dtype for t in tensors}
    dtype = (
        dtypes.pop()
        if len(dtypes) == 1 and not (isinstance(op, ast.Div) and first.dtype in ("int32", "int64"))
        else None
    )
    shape = None if isinstance(op, ast.MatMult) else _broadcast(tensors)
    others = [a for v in (left, right) for a in v.atoms if not isinstance(a, (Tensor, Const, Primitive))]
    return tensor(first.framework, kind, dtype, None if others else shape)


def _scalars(name: str, fold: Callable[[Any, Any], Any] | None, a: Const | Primitive, b: Const | Primitive) -> Value:
    if fold is not None and isinstance(a, Const) and isinstance(b, Const) and _foldable(a.constant, b.constant, name):
        try:
            return const(fold(a.constant, b.constant))
        except (ArithmeticError, ValueError, TypeError):
            return NOTHING
    types = {a.type, b.type}
    if "NoneType" in types:
        return NOTHING
    if "str" in types:
        return primitive("str")
    if "bytes" in types:
        return primitive("bytes")
    if "complex" in types:
        return primitive("complex")
    if name == "truediv" or "float" in types:
        return primitive("float")
    return primitive("bool" if types == {"bool"} and name in ("or", "and", "xor") else "int")


def _compared(op: ast.cmpop, a: Atom, b: Atom) -> Value:
    """The answer of a comparison: known for constants; of an argument that nobody passes, as unknown as that is."""
    strange = next((atom for atom in (a, b) if isinstance(atom, Unknown)), None)
    if strange is not None:
        return strange.value if strange.before else UNKNOWN
    if not isinstance(a, Const) or not isinstance(b, Const):
        return primitive("bool")
    try:
        return const(bool(_ANSWERS[op.__class__](a.constant, b.constant)))
    except TypeError:
        return primitive("bool")


def _foldable(a: Any, b: Any, name: str) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return name == "add" and len(a) + len(b) < 200
    small = (int, float)
    return isinstance(a, small) and isinstance(b, small) and abs(a) < 2**64 and abs(b) < 2**64
