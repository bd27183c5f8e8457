"""Conversions between element types, the narrow ones included."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor

from strop.frontend.onnx.element_types import CARRIERS, FLOAT8, PLAIN, from_numpy, to_numpy
from strop.frontend.onnx.ops import OnnxCall, Unsupported, known, onnx, whole
from strop.frontend.onnx.ops.naming import Spelt, spelt

T = TensorProto
_LIMITS = {"float8_e4m3fn": 448, "float8_e4m3fnuz": 240, "float8_e5m2": 57344, "float8_e5m2fnuz": 57344}
_BITS: dict[int, tuple[int, bool]] = {T.INT4: (4, True), T.UINT4: (4, False), T.INT2: (2, True), T.UINT2: (2, False)}


@onnx("Cast")
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up", node: OnnxCall) -> Any:
    return converted(x, node.input_types[0] if node.input_types else 0, to, bool(saturate), round_mode)


@onnx("CastLike")
def cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up", node: OnnxCall) -> Any:
    to = node.input_types[1] if isinstance(like, Tensor) else T.STRING
    return converted(x, node.input_types[0], to, bool(saturate), round_mode)


def converted(x: Any, source: int, to: int, saturate: bool = True, round_mode: str = "up") -> Any:
    """A value of ONNX element type `source` as one of type `to`, held or carried."""
    if not isinstance(x, Tensor):
        return _from_texts(x, to)
    if to == T.STRING:
        numbers = known(x)
        return Spelt(x, source) if numbers is None else spelt(to_numpy(numbers, source))
    if source == T.UINT64 and to in (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, *FLOAT8):
        wide = x.to(torch.float64)
        x = torch.where(x < 0, wide + 2.0**64, wide)
    if to in (T.FLOAT, T.FLOAT16) and x.dtype in (torch.int8, torch.uint8):
        return whole(x, torch.float32)
    if to in PLAIN:
        return x.to(PLAIN[to])
    if to in FLOAT8:
        return torch.ops.strop.narrow(x.to(torch.float32), FLOAT8[to], saturate, round_mode)
    if to in _BITS:
        bits, signed = _BITS[to]
        low = torch.bitwise_and(x.to(torch.int32), 2**bits - 1)
        if signed:
            low = torch.where(low >= 2 ** (bits - 1), low - 2**bits, low)
        return low.to(CARRIERS[to])
    if to in CARRIERS:
        return x.to(CARRIERS[to])
    raise Unsupported(f"a conversion to element type {to}")


def _from_texts(texts: np.ndarray[Any, Any], to: int) -> Any:
    if to == T.STRING:
        return texts
    wide = texts.astype(np.float64) if to in FLOAT8 or PLAIN.get(to, torch.int64).is_floating_point else None
    return converted(torch.from_numpy(wide if wide is not None else texts.astype(np.int64)), 0, to)


@torch.library.custom_op("strop::narrow", mutates_args=())
def _narrow(x: Tensor, name: str, saturate: bool, round_mode: str) -> Tensor:
    """Float32 rounded to an eight- or four-bit float, as float32."""
    return from_numpy(narrowed(x.numpy(), name, saturate, round_mode))


@_narrow.register_fake
def _(x: Tensor, name: str, saturate: bool, round_mode: str) -> Tensor:
    return torch.empty_like(x)


def narrowed(x: np.ndarray[Any, Any], name: str, saturate: bool, round_mode: str) -> np.ndarray[Any, Any]:
    kind = getattr(ml_dtypes, name)
    if name == "float8_e8m0fnu":
        return _power_of_two(x, saturate, round_mode)
    if name == "float4_e2m1fn":
        return np.asarray(np.clip(x, -6, 6).astype(kind), dtype=np.float32)
    rounded = np.asarray(x.astype(kind), dtype=np.float32)
    limit = float(_LIMITS[name])
    if saturate:
        beyond = (np.abs(x) > limit) & ~np.isnan(x)
        return np.where(beyond, np.copysign(np.float32(limit), x), rounded).astype(np.float32)
    return rounded


def _power_of_two(x: np.ndarray[Any, Any], saturate: bool, round_mode: str) -> np.ndarray[Any, Any]:
    """Eight bits of exponent and nothing else: 2^-127 to 2^127."""
    magnitude = np.abs(x.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.log2(magnitude)
    rounding = {"up": np.ceil, "down": np.floor}.get(round_mode)
    whole = rounding(exponent) if rounding else np.floor(np.log2(magnitude * 4 / 3 + (magnitude == 0)) + 0)
    if saturate:
        whole = np.clip(whole, -127, 127)
    result = np.where((whole > 127) | (whole < -127) | np.isnan(whole), np.nan, np.exp2(np.clip(whole, -127, 127)))
    return np.where(np.isfinite(x), result, np.where(np.isinf(x) & saturate, 2.0**127, np.nan)).astype(np.float32)


@onnx("BitCast")
def bit_cast(x: Tensor, *, to: int, node: OnnxCall) -> Tensor:
    """The same bits under another type of the same width."""
    source = node.input_types[0]
    exact: dict[int, torch.dtype] = {T.UINT16: torch.int16, T.UINT32: torch.int32, T.UINT64: torch.int64,
                                     T.FLOAT16: torch.float16}  # fmt: skip
    if source in CARRIERS and source not in exact:
        raise Unsupported(f"a reinterpretation of element type {source}")
    held = x.to(exact[source]) if source in exact else x
    if to in exact:
        return held.view(exact[to]).to(CARRIERS[to])
    if to not in PLAIN:
        raise Unsupported(f"a reinterpretation as element type {to}")
    return held.view(PLAIN[to])
