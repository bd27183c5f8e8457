"""Element types of a node's inputs and outputs, by ONNX's own description of its operator."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import onnx
from onnx import TensorProto

_NUMBERS = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}
_NAMES = {number: name.lower() for name, number in TensorProto.DataType.items()}
#: floating-point types that no other type is carried in
_EXACT = frozenset((TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE))


@dataclass(frozen=True)
class Formal:
    """An input as the operator declares it: its type variable, and the kinds that this may stand for."""

    variable: str
    kinds: frozenset[str]
    same: bool  # all inputs with this variable are of one type


@dataclass(frozen=True)
class Typing:
    """What is known of a node's types: for each output the input that shares its type, or a fixed type."""

    formals: tuple[Formal, ...]
    inputs: tuple[int, ...]  # -1: none
    fixed: tuple[int, ...]  # 0: none

    def of(self, output: int, inputs: Sequence[int]) -> int:
        """The element type of an output, or 0; an operator that ONNX does not describe keeps to half precision."""
        if output >= len(self.inputs):
            output = len(self.inputs) - 1  # variadic
        if output < 0:
            return int(TensorProto.FLOAT16) if TensorProto.FLOAT16 in inputs else 0
        position = self.inputs[output]
        return inputs[position] if 0 <= position < len(inputs) and inputs[position] else self.fixed[output]

    def given(self, outputs: Sequence[int]) -> Typing:
        """The same where a graph inside the node says what its outputs are."""
        return replace(self, inputs=(-1,) * len(outputs), fixed=tuple(outputs))

    def refusal(self, inputs: Sequence[int]) -> str:
        """Why inputs of these types cannot be meant, or ''. Widths of integers are taken as they come."""
        first: dict[str, tuple[int, int]] = {}
        for position, given in enumerate(inputs):
            if not self.formals or not given:
                continue
            formal = self.formals[min(position, len(self.formals) - 1)]
            if formal.kinds and kind_of(given) not in formal.kinds:
                return (
                    f"its input {position + 1} is {_NAMES[given]}; it takes {' or '.join(sorted(formal.kinds))} types"
                )
            if not formal.same:
                continue
            before, other = first.setdefault(formal.variable, (position, given))
            if kind_of(given) != kind_of(other) or (given != other and given in _EXACT and other in _EXACT):
                return (f"its input {before + 1} is {_NAMES[other]} and its input {position + 1} {_NAMES[given]}; "
                        "both have to be of one type")  # fmt: skip
        return ""


@functools.cache
def kind_of(element_type: int) -> str:
    name = _NAMES.get(element_type, "")
    if name.startswith(("float", "bfloat", "double")):
        return "floating-point"
    return "integer" if name.startswith(("int", "uint")) else name.rstrip("0123456789")


@functools.cache
def schema_of(domain: str, op: str, opset: int) -> Any:
    """ONNX's description of an operator, or None."""
    try:
        return onnx.defs.get_schema(op, opset, domain)
    except Exception:  # SchemaError is not exported under one name by every version
        return None


def typing_of(domain: str, op: str, opset: int, declared: int) -> Typing:
    """`declared` is the element type that the node's own attributes tell, or 0."""
    formals, inputs, fixed, open_ = _described(domain, op, opset)
    if declared:
        fixed = tuple(declared if is_open else known for known, is_open in zip(fixed, open_))
    return Typing(formals, inputs, fixed)


@functools.cache
def _described(
    domain: str, op: str, opset: int
) -> tuple[tuple[Formal, ...], tuple[int, ...], tuple[int, ...], tuple[bool, ...]]:
    """The inputs; then per output: the input that shares its type, its fixed type, whether only an attribute tells."""
    schema = schema_of(domain, op, opset)
    if schema is None:
        return (), (), (), ()
    first: dict[str, int] = {}
    for position, formal in enumerate(schema.inputs):
        first.setdefault(formal.type_str, position)
    formals = tuple(_formal(formal) for formal in schema.inputs)
    inputs = tuple(first.get(formal.type_str, -1) for formal in schema.outputs)
    fixed = tuple(_NUMBERS.get(formal.type_str, 0) for formal in schema.outputs)
    return formals, inputs, fixed, tuple(i < 0 and not f for i, f in zip(inputs, fixed))


def _formal(formal: Any) -> Formal:
    types = list(formal.types)
    kinds = frozenset(kind_of(_NUMBERS[name]) for name in types) if all(n in _NUMBERS for n in types) else frozenset()
    return Formal(formal.type_str, kinds, bool(formal.is_homogeneous))
