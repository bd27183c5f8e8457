"""Between torch's element types and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from strop.core.problem import Problem
from strop.graph.ir import NOWHERE, Origin, Type

NAMES: dict[torch.dtype, str] = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8",
    torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
}  # fmt: skip
DTYPES: dict[str, torch.dtype] = {name: dtype for dtype, name in NAMES.items()}


def bytes_of(values: Sequence[Any], dtype: str) -> bytes:
    """A tensor's elements as they lie in memory."""
    return torch.tensor(values, dtype=DTYPES[dtype]).view(torch.uint8).numpy().tobytes()


def tensor_of(data: bytes, type: Type) -> torch.Tensor:
    """The tensor whose elements lie in memory as `data`."""
    if not data:
        return torch.empty(type.shape, dtype=DTYPES[type.dtype])
    return torch.frombuffer(bytearray(data), dtype=DTYPES[type.dtype]).view(type.shape)


def type_of(value: torch.Tensor, where: Origin = NOWHERE) -> Type:
    """The type of a (fake or real) tensor; a Problem where the compiler can't know or handle it."""
    if value.layout != torch.strided:
        raise Problem("STR104", f"a {value.layout} tensor: only dense tensors can be compiled", where=where,
                      help="call .to_dense(), or compile with partial=True")  # fmt: skip
    if value.device.type not in ("cpu", "meta"):
        raise Problem("STR103", f"a tensor lives on {value.device}", where=where, help="move it with .to('cpu')")
    if value.dtype not in NAMES:
        raise Problem("STR104", f"no support for {value.dtype}", where=where, help="compile with partial=True")
    if not all(isinstance(extent, int) for extent in value.shape):
        raise Problem("STR106", f"a tensor of shape {tuple(value.shape)} has a size that depends on data", where=where,
                      help="use torch.where with a mask, or compile with partial=True")  # fmt: skip
    return Type(NAMES[value.dtype], tuple(value.shape))


def types_of(value: Any, where: Origin = NOWHERE) -> tuple[Type, ...]:
    """The types of an operator's results: one tensor, or a sequence of them."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(type_of(v, where) for v in values if isinstance(v, torch.Tensor))
