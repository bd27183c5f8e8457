"""ONNX element types: which torch dtype holds or carries each, and rounding into the narrow ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor

T = TensorProto

#: element types that are torch dtypes in which torch computes
PLAIN: dict[int, torch.dtype] = {
    T.FLOAT: torch.float32, T.DOUBLE: torch.float64, T.BFLOAT16: torch.bfloat16, T.INT64: torch.int64,
    T.INT32: torch.int32, T.INT16: torch.int16, T.INT8: torch.int8, T.UINT8: torch.uint8, T.BOOL: torch.bool,
    T.COMPLEX64: torch.complex64, T.COMPLEX128: torch.complex128,
}  # fmt: skip
#: the others → the dtype that carries their values; a float16 is rounded to its 11 bits where it leaves the model
CARRIERS: dict[int, torch.dtype] = {
    T.FLOAT16: torch.float32,
    T.UINT16: torch.int32, T.UINT32: torch.int64, T.UINT64: torch.int64,
    T.INT4: torch.int8, T.UINT4: torch.uint8, T.INT2: torch.int8, T.UINT2: torch.uint8,
    T.FLOAT8E4M3FN: torch.float32, T.FLOAT8E4M3FNUZ: torch.float32, T.FLOAT8E5M2: torch.float32,
    T.FLOAT8E5M2FNUZ: torch.float32, T.FLOAT8E8M0: torch.float32, T.FLOAT4E2M1: torch.float32,
}  # fmt: skip
HALF = T.FLOAT16
OF_DTYPE: dict[torch.dtype, int] = {dtype: element_type for element_type, dtype in PLAIN.items()}
#: unsigned types → the bits that they keep
WRAPPED: dict[int, int] = {T.UINT16: 0xFFFF, T.UINT32: 0xFFFFFFFF}
RANGES: dict[int, tuple[int, int]] = {
    T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT16: (-32768, 32767), T.UINT16: (0, 65535),
    T.INT4: (-8, 7), T.UINT4: (0, 15), T.INT2: (-2, 1), T.UINT2: (0, 3), T.INT32: (-(2**31), 2**31 - 1),
    T.UINT32: (0, 2**32 - 1),
}  # fmt: skip
FLOAT8: dict[int, str] = {
    T.FLOAT8E4M3FN: "float8_e4m3fn", T.FLOAT8E4M3FNUZ: "float8_e4m3fnuz", T.FLOAT8E5M2: "float8_e5m2",
    T.FLOAT8E5M2FNUZ: "float8_e5m2fnuz", T.FLOAT8E8M0: "float8_e8m0fnu", T.FLOAT4E2M1: "float4_e2m1fn",
}  # fmt: skip


def dtype_of(element_type: int) -> torch.dtype | None:
    """The torch dtype that holds or carries an element type; None for strings and the unknown."""
    return PLAIN.get(element_type) or CARRIERS.get(element_type)


def carried(value: Any) -> Any:
    """A tensor of half precision in the type that carries it; anything else as it is."""
    return value.to(torch.float32) if isinstance(value, Tensor) and value.dtype == torch.float16 else value


def from_numpy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
    """An array of any numeric type as the tensor that holds or carries it."""
    name = array.dtype.name
    if name in ("uint16", "uint32"):
        array = array.astype(np.int32 if name == "uint16" else np.int64)
    elif name == "uint64":
        array = array.view(np.int64) if array.flags.c_contiguous else np.ascontiguousarray(array).view(np.int64)
    elif name in ("int4", "int2"):
        array = array.astype(np.int8)
    elif name in ("uint4", "uint2"):
        array = array.astype(np.uint8)
    elif name == "bfloat16":
        bits = torch.from_numpy(np.array(array, order="C", copy=True).view(np.int16))
        return bits.view(torch.bfloat16)
    elif name.startswith(("float8", "float4")):
        array = array.astype(np.float32)
    if name == "float16":
        return torch.from_numpy(np.array(array, np.float16, order="C")).to(torch.float32)
    if not array.flags.writeable or not array.flags.c_contiguous or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    return torch.from_numpy(array)


def to_numpy(tensor: Tensor, element_type: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """A tensor as an array of the element type that it holds or carries."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if element_type == T.FLOAT16:
        return tensor.to(torch.float16).numpy()
    array = tensor.numpy()
    if element_type not in CARRIERS:
        return array
    if element_type == T.UINT64:
        return np.ascontiguousarray(array).view(np.uint64)
    from onnx.helper import tensor_dtype_to_np_dtype

    return array.astype(tensor_dtype_to_np_dtype(element_type))


def as_numpy(value: Any, element_type: int) -> Any:
    """A result as NumPy, in the element type that the model declares."""
    if isinstance(value, (list, tuple)):
        return [as_numpy(item, element_type) for item in value]
    if isinstance(value, Tensor):
        return to_numpy(value, element_type)
    return value if value is None or isinstance(value, np.ndarray | dict) else np.asarray(value)
