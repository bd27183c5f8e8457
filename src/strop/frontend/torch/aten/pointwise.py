"""Pointwise operators: unary, binary, comparisons, clamps, casts. Dtypes are promoted here, once and for all."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import torch

from strop.core.dtypes import is_float
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.dtypes import DTYPES, NAMES
from strop.frontend.torch.registry import Operand, Unfit, Whole, aten
from strop.graph.ir import Node

#: ATen's name → ours, where integers are computed in the default float dtype
FLOATING = {
    "exp": "exp", "exp2": "exp2", "special_exp2": "exp2", "expm1": "expm1", "special_expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "special_log1p": "log1p",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf", "special_erf": "erf", "erfc": "erfc",
    "special_erfc": "erfc", "sigmoid": "sigmoid", "special_expit": "sigmoid",
}  # fmt: skip
#: the dtype stays; on integers and bool the rounding ones change nothing
KEEPING = {"neg": "neg", "abs": "abs", "sign": "sign", "sgn": "sign"}
ROUNDING = {"floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc", "fix": "trunc"}
COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
#: of integers, these have no result where the divisor is zero
DIVIDING = frozenset(("floordiv", "truncdiv", "mod", "fmod"))
#: on bool, arithmetic is logic
BOOLEAN = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}


def promoted(b: Builder, *operands: Operand) -> str:
    """The dtype in which torch would compute with these operands (0-d tensors weigh less, numbers least)."""
    ranked: list[Any] = []
    for x in operands:
        if isinstance(x, Node):
            ranked.append(torch.empty((0,) * (1 if x.type.rank else 0), dtype=DTYPES[x.dtype], device="meta"))
        else:
            ranked.append(x)
    if len(ranked) == 1:
        return NAMES[torch.result_type(ranked[0], ranked[0])]
    return NAMES[reduce(torch.promote_types, (torch.result_type(ranked[0], x) for x in ranked[1:]))]


def arithmetic(b: Builder, op: str, x: Operand, y: Operand, dtype: str | None = None) -> Node:
    dtype = dtype or b.call.dtype
    if dtype == "bool":
        if op not in BOOLEAN:
            raise Unfit(f"`{op}` of booleans")
        op = BOOLEAN[op]
    dividend, divisor = b.operand(x, dtype), b.operand(y, dtype)
    if op in DIVIDING and not is_float(dtype) and dividend.type.size and not _is_never_zero(divisor):
        raise Whole("an integer divided by zero raises in eager, and the divisor may be zero")
    return b.binary(op, dividend, divisor)


def _is_never_zero(x: Node) -> bool:
    """What can be told from how it was computed: a number, a list of numbers, something clamped from below."""
    if x.op in ("full", "constant"):
        values = (x.attrs["value"],) if x.op == "full" else x.attrs["values"]
        return all(value != 0 for value in values)
    if x.op == "maximum":
        return any(side.op == "full" and side.attrs["value"] > 0 for side in x.inputs)
    return x.op in ("reshape", "expand", "permute") and _is_never_zero(x.inputs[0])


def _register_unary() -> None:
    for name, op in FLOATING.items():
        aten(name)(lambda b, x, op=op: b.unary(op, b.cast(x, b.call.dtype)))
    for name, op in KEEPING.items():
        aten(name)(lambda b, x, op=op: x if x.dtype == "bool" and op != "neg" else b.unary(op, x))
    for name, op in ROUNDING.items():
        aten(name)(lambda b, x, op=op: b.unary(op, x) if is_float(x.dtype) else x)


def _register_comparisons() -> None:
    for name in COMPARISONS:

        def compare(b: Builder, x: Operand, y: Operand, op: str = name) -> Node:
            dtype = promoted(b, x, y)
            return b.compare(op, b.operand(x, dtype), b.operand(y, dtype))

        aten(f"{name}.Tensor", f"{name}.Scalar")(compare)


_register_unary()
_register_comparisons()


@aten("round.decimals")
def round_decimals(b: Builder, x: Node, decimals: int) -> Node:
    if not is_float(x.dtype):
        raise Unfit("rounding integers to decimals")
    scale = float(10 ** abs(decimals))
    if decimals >= 0:
        return b.div(b.unary("round", b.mul(x, scale)), scale)
    return b.mul(b.unary("round", b.div(x, scale)), scale)


@aten("positive")
def positive(b: Builder, x: Node) -> Node:
    return x


@aten("logical_not")
def logical_not(b: Builder, x: Node) -> Node:
    return b.unary("not", b.cast(x, "bool"))


@aten("bitwise_not")
def bitwise_not(b: Builder, x: Node) -> Node:
    return b.unary("not", x)


@aten("isnan")
def isnan(b: Builder, x: Node) -> Node:
    return _test(b, "isnan", x)


@aten("isinf")
def isinf(b: Builder, x: Node) -> Node:
    return _test(b, "isinf", x)


@aten("isfinite")
def isfinite(b: Builder, x: Node) -> Node:
    if not is_float(x.dtype):
        return b.full(True, "bool", x.shape)
    return b.unary("not", b.binary("or", _test(b, "isnan", x), _test(b, "isinf", x)))


def _test(b: Builder, op: str, x: Node) -> Node:
    if not is_float(x.dtype):
        return b.full(False, "bool", x.shape)
    return b.node(op, (x,), b.call.types[0])


@aten("signbit")
def signbit(b: Builder, x: Node) -> Node:
    if x.dtype == "bool":
        return b.full(False, "bool", x.shape)
    if is_float(x.dtype):
        return b.compare("lt", b.binary("copysign", b.full(1, x.dtype), x), 0)
    return b.compare("lt", x, 0)


@aten("square")
def square(b: Builder, x: Node) -> Node:
    return arithmetic(b, "mul", x, x)


@aten("frac")
def frac(b: Builder, x: Node) -> Node:
    return b.sub(x, b.unary("trunc", x))


@aten("deg2rad")
def deg2rad(b: Builder, x: Node) -> Node:
    return b.mul(b.cast(x, b.call.dtype), math.pi / 180)


@aten("rad2deg")
def rad2deg(b: Builder, x: Node) -> Node:
    return b.mul(b.cast(x, b.call.dtype), 180 / math.pi)


# binary


@aten("add.Tensor", "add.Scalar")
def add(b: Builder, x: Operand, y: Operand, alpha: Operand = 1) -> Node:
    return arithmetic(b, "add", x, _scaled(b, y, alpha))


@aten("sub.Tensor", "sub.Scalar")
def sub(b: Builder, x: Operand, y: Operand, alpha: Operand = 1) -> Node:
    return arithmetic(b, "sub", x, _scaled(b, y, alpha))


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(b: Builder, x: Operand, y: Operand, alpha: Operand = 1) -> Node:
    return arithmetic(b, "sub", y, _scaled(b, x, alpha))


def _scaled(b: Builder, y: Operand, alpha: Operand) -> Operand:
    if not isinstance(alpha, Node) and alpha == 1:
        return y
    return arithmetic(b, "mul", y, alpha)


@aten("mul.Tensor", "mul.Scalar")
def mul(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "mul", x, y)


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "div", x, y)


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(b: Builder, x: Operand, y: Operand, mode: str | None) -> Node:
    op = {None: "div", "floor": "floordiv", "trunc": "truncdiv"}[mode]
    return arithmetic(b, op, x, y)


@aten("floor_divide", "floor_divide.Scalar")
def floor_divide(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "floordiv", x, y)


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "mod", x, y)


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "fmod", x, y)


@aten("atan2")
def atan2(b: Builder, x: Node, y: Node) -> Node:
    return arithmetic(b, "atan2", x, y)


@aten("hypot")
def hypot(b: Builder, x: Node, y: Node) -> Node:
    """large·√(1 + (small/large)²), so that nothing overflows on the way; an infinity wins over NaN."""
    x, y = b.unary("abs", b.cast(x, b.call.dtype)), b.unary("abs", b.cast(y, b.call.dtype))
    large, small = b.binary("maximum", x, y), b.binary("minimum", x, y)
    ratio = b.div(small, large)
    length = b.mul(large, b.unary("sqrt", b.add(b.mul(ratio, ratio), 1)))
    length = b.where(b.compare("eq", large, 0), large, length)
    endless = b.binary("or", b.compare("eq", x, math.inf), b.compare("eq", y, math.inf))
    return b.where(endless, math.inf, length)


@aten("copysign.Tensor", "copysign.Scalar")
def copysign(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "copysign", x, y)


@aten("maximum")
def maximum(b: Builder, x: Node, y: Node) -> Node:
    return arithmetic(b, "maximum", x, y)


@aten("minimum")
def minimum(b: Builder, x: Node, y: Node) -> Node:
    return arithmetic(b, "minimum", x, y)


@aten("fmax")
def fmax(b: Builder, x: Node, y: Node) -> Node:
    return _ignoring_nan(b, "maximum", x, y)


@aten("fmin")
def fmin(b: Builder, x: Node, y: Node) -> Node:
    return _ignoring_nan(b, "minimum", x, y)


def _ignoring_nan(b: Builder, op: str, x: Node, y: Node) -> Node:
    x, y = b.operand(x, b.call.dtype), b.operand(y, b.call.dtype)
    chosen = arithmetic(b, op, x, y)
    if not is_float(x.dtype):
        return chosen
    chosen = b.where(b.compare("ne", x, x), y, chosen)
    return b.where(b.compare("ne", y, y), x, chosen)


@aten("pow.Tensor_Tensor", "pow.Scalar")
def pow_(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "pow", x, y)


@aten("pow.Tensor_Scalar")
def pow_scalar(b: Builder, x: Node, exponent: float) -> Node:
    """The exponents that eager computes without pow are expanded, so that results agree."""
    x = b.cast(x, b.call.dtype)
    if x.dtype == "bool":
        raise Unfit("`pow` of booleans")
    if exponent == 1:
        return x
    if exponent == 0:
        return b.full(1, x.dtype, x.shape)
    if exponent == 2:
        return b.mul(x, x)
    if exponent == 3:
        return b.mul(b.mul(x, x), x)
    if not is_float(x.dtype):
        return arithmetic(b, "pow", x, exponent)
    if exponent == 0.5:
        return b.unary("sqrt", x)
    if exponent == -0.5:
        return b.unary("rsqrt", x)
    if exponent == -1:
        return b.unary("reciprocal", x)
    if exponent == -2:
        return b.unary("reciprocal", b.mul(x, x))
    return arithmetic(b, "pow", x, exponent)


@aten("float_power.Tensor_Tensor", "float_power.Scalar", "float_power.Tensor_Scalar")
def float_power(b: Builder, x: Operand, y: Operand) -> Node:
    return arithmetic(b, "pow", x, y)


def _register_logic() -> None:
    for name, op in {"and": "and", "or": "or", "xor": "xor"}.items():

        def bitwise(b: Builder, x: Operand, y: Operand, op: str = op) -> Node:
            return b.binary(op, b.operand(x, b.call.dtype), b.operand(y, b.call.dtype))

        def logical(b: Builder, x: Node, y: Node, op: str = op) -> Node:
            return b.binary(op, b.cast(x, "bool"), b.cast(y, "bool"))

        aten(f"bitwise_{name}.Tensor", f"bitwise_{name}.Scalar", f"bitwise_{name}.Scalar_Tensor",
             f"__{name}__.Tensor", f"__{name}__.Scalar")(bitwise)  # fmt: skip
        aten(f"logical_{name}")(logical)
    for name, op in {"left": "shl", "right": "shr"}.items():

        def shift(b: Builder, x: Operand, y: Operand, op: str = op) -> Node:
            return b.binary(op, b.operand(x, b.call.dtype), b.operand(y, b.call.dtype))

        aten(f"bitwise_{name}_shift.Tensor", f"bitwise_{name}_shift.Tensor_Scalar",
             f"bitwise_{name}_shift.Scalar_Tensor", f"__{name[0]}shift__.Tensor",
             f"__{name[0]}shift__.Scalar")(shift)  # fmt: skip


_register_logic()


# selection


@aten("clamp", "clamp.Tensor", "clip", "clip.Tensor")
def clamp(b: Builder, x: Node, low: Operand | None = None, high: Operand | None = None) -> Node:
    x = b.cast(x, b.call.dtype)
    if low is not None:
        x = arithmetic(b, "maximum", x, _bounded(low, x.dtype))
    if high is not None:
        x = arithmetic(b, "minimum", x, _bounded(high, x.dtype))
    return x


def _bounded(bound: Operand, dtype: str) -> Operand:
    """A limit that the integer type can hold (`clamp(max=inf)` of an int tensor)."""
    if isinstance(bound, Node) or is_float(dtype) or dtype == "bool":
        return bound
    info = torch.iinfo(DTYPES[dtype])
    return int(min(max(bound, info.min), info.max))


@aten("clamp_min", "clamp_min.Tensor")
def clamp_min(b: Builder, x: Node, low: Operand) -> Node:
    return clamp(b, x, low, None)


@aten("clamp_max", "clamp_max.Tensor")
def clamp_max(b: Builder, x: Node, high: Operand) -> Node:
    return clamp(b, x, None, high)


@aten("hardtanh")
def hardtanh(b: Builder, x: Node, low: float, high: float) -> Node:
    return clamp(b, x, low, high)


@aten("relu6")
def relu6(b: Builder, x: Node) -> Node:
    return clamp(b, x, 0, 6)


@aten("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(b: Builder, condition: Node, x: Operand, y: Operand) -> Node:
    return b.where(b.cast(condition, "bool"), b.operand(x, b.call.dtype), b.operand(y, b.call.dtype))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: Builder, x: Node, mask: Node, value: Operand) -> Node:
    return b.where(b.cast(mask, "bool"), b.operand(value, b.call.dtype), b.cast(x, b.call.dtype))


@aten("lerp.Scalar", "lerp.Tensor")
def lerp(b: Builder, x: Node, end: Node, weight: Operand) -> Node:
    """Eager's two formulas: from the nearer end, so that weight 1 gives `end` exactly."""
    difference = b.sub(end, x)
    if not isinstance(weight, Node):
        near = b.add(x, b.mul(difference, weight))
        return near if abs(weight) < 0.5 else b.sub(end, b.mul(difference, 1 - weight))
    near = b.add(x, b.mul(weight, difference))
    far = b.sub(end, b.mul(difference, b.sub(1, weight)))
    return b.where(b.compare("lt", b.unary("abs", weight), 0.5), near, far)


@aten("addcmul")
def addcmul(b: Builder, x: Node, y: Node, z: Node, value: float = 1) -> Node:
    return arithmetic(b, "add", x, _scaled(b, arithmetic(b, "mul", y, z), value))


@aten("addcdiv")
def addcdiv(b: Builder, x: Node, y: Node, z: Node, value: float = 1) -> Node:
    return arithmetic(b, "add", x, _scaled(b, arithmetic(b, "div", y, z), value))


# casts


@aten("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "to.prim_dtype", "float", "double",
      "_cast_Float", "_cast_Double", "_cast_Long", "_cast_Int")  # fmt: skip
def to(b: Builder, x: Node, *_: Any) -> Node:
    return b.cast(x, b.call.dtype)
