"""sin, cos, tan and their inverses, as straight-line vector code.

f32 arguments of any size are reduced exactly in 64-bit fixed point. f64 sine, cosine and tangent are LLVM's intrinsics,
which call the C library: a reduction for arguments up to 2^1023 would cost more than the call saves.
"""

from __future__ import annotations

import math

from strop.codegen.algebra import RegisterTerm, mul_add, polynomial, select
from strop.codegen.math.tables import ASIN, ATAN, COS, SIN

#: 2/π's bits from the weight 2^31 on (so 32 zeros first), in 32-bit words: enough for the largest f32
_TWO_OVER_PI = (0x00000000, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
_SMALL = math.pi / 4
_PI_LOW = {"f32": -8.742278000372485e-08, "f64": 1.2246467991473532e-16}
_PI_HIGH = {"f32": 3.1415927410125732, "f64": math.pi}
_TAN_EIGHTH = math.tan(math.pi / 8)


def _window(start: RegisterTerm, skip: int) -> RegisterTerm:
    """The 64 bits of the table from word `start + skip` on; `start` is at most 4."""
    pairs = [_signed(_TWO_OVER_PI[i] << 32 | _TWO_OVER_PI[i + 1]) for i in range(skip, len(_TWO_OVER_PI) - 1)][:5]
    found = start.lift(pairs[0])
    for word, pair in enumerate(pairs[1:], 1):
        found = select(start.compare("eq", word), start.lift(pair), found)
    return found


def _signed(pattern: int) -> int:
    return pattern - (1 << 64) if pattern >> 63 else pattern


def _reduced(x: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """|x| = k·π/2 + r with |r| ≤ π/4: r, and an integer that agrees with k modulo 4.

    |x| = m·2^e; m·2^e·2/π is needed modulo 4 only, so of 2/π only the 96 bits from the weight 2^(1-e) on matter.
    """
    a = abs(x)
    small = a.compare("olt", _SMALL)
    bits = a.bits().convert("zext", "i64")
    exponent = bits.op("lshr", 23) - 150
    start = exponent.call("llvm.smax", -30) + 30
    word, shift = start.op("lshr", 5), start & 31
    first, second = _window(word, 0), _window(word, 2)
    high = first.call("llvm.fshl", second, shift)
    low = (second << shift).op("lshr", 32)
    mantissa = (bits & 0x7FFFFF) | 0x800000
    turns = mantissa * high + (mantissa * low).op("lshr", 32)
    quadrant = (turns + (1 << 61)).op("lshr", 62)
    r = (turns - (quadrant << 62)).convert("sitofp", "f64") * (math.pi / 2 * 2.0**-62)
    return (
        select(small, a, r.convert("fptrunc", "f32")),
        select(small, quadrant.lift(0), quadrant).convert("trunc", "i32"),
    )


def _sine_and_cosine(r: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    z = r * r
    sine = mul_add(r * z, polynomial(z, SIN["f32"]), r)
    cosine = mul_add(z * z, polynomial(z, COS["f32"]), mul_add(z, -0.5, 1.0))
    return sine, cosine


def _finite_only(x: RegisterTerm, result: RegisterTerm) -> RegisterTerm:
    return select(abs(x).compare("olt", math.inf), result, math.nan)


def _by_quadrant(r: RegisterTerm, quadrant: RegisterTerm) -> RegisterTerm:
    """sin(quadrant·π/2 + r)"""
    sine, cosine = _sine_and_cosine(r)
    chosen = select((quadrant & 1).compare("eq", 0), sine, cosine)
    return (chosen.bits() ^ ((quadrant & 2) << 30)).as_float()


def sin(x: RegisterTerm) -> RegisterTerm:
    if x.dtype == "f64":
        return x.call("llvm.sin")
    size = _by_quadrant(*_reduced(x))
    sign = x.bits() & -(1 << 31)
    return _finite_only(x, (size.bits() ^ sign).as_float())


def cos(x: RegisterTerm) -> RegisterTerm:
    if x.dtype == "f64":
        return x.call("llvm.cos")
    r, quadrant = _reduced(x)
    return _finite_only(x, _by_quadrant(r, quadrant + 1))


def tan(x: RegisterTerm) -> RegisterTerm:
    if x.dtype == "f64":
        return x.call("llvm.tan")
    r, quadrant = _reduced(x)
    sine, cosine = _sine_and_cosine(r)
    even = (quadrant & 1).compare("eq", 0)
    size = select(even, sine, -cosine) / select(even, cosine, sine)
    sign = x.bits() & -(1 << 31)
    return _finite_only(x, (size.bits() ^ sign).as_float())


def _asin_tail(z: RegisterTerm) -> RegisterTerm:
    """asin(t)/t - 1 for z = t² ≤ ¼"""
    return z * polynomial(z, ASIN[z.dtype])


def asin(x: RegisterTerm) -> RegisterTerm:
    """Above ½: π/2 - 2·asin(√((1 - |x|)/2))."""
    a = abs(x)
    inner = a.compare("olt", 0.5)
    folded = mul_add(a, -0.5, 0.5)
    z = select(inner, a * a, folded)
    t = select(inner, a, folded.call("llvm.sqrt"))
    s = mul_add(t, _asin_tail(z), t)
    outer = mul_add(s, -2.0, _PI_LOW[x.dtype] / 2) + _PI_HIGH[x.dtype] / 2
    return select(inner, s, outer).copysign(x)


def acos(x: RegisterTerm) -> RegisterTerm:
    a = abs(x)
    inner = a.compare("olt", 0.5)
    folded = mul_add(a, -0.5, 0.5)
    z = select(inner, x * x, folded)
    t = select(inner, x, folded.call("llvm.sqrt"))
    s = mul_add(t, _asin_tail(z), t)
    high, low = _PI_HIGH[x.dtype], _PI_LOW[x.dtype]
    middle = high / 2 - (s - low / 2)
    twice = s + s
    outer = select(x.compare("olt", 0.0), high - (twice - low), twice)
    return select(inner, middle, outer)


def _arc(small: RegisterTerm, large: RegisterTerm) -> RegisterTerm:
    """atan(small/large) for 0 ≤ small ≤ large."""
    t = small / large
    steep = t.compare("ogt", _TAN_EIGHTH)
    t = select(steep, (t - 1.0) / (t + 1.0), t)
    z = t * t
    angle = mul_add(t * z, polynomial(z, ATAN[t.dtype]), t)
    high, low = _PI_HIGH[t.dtype] / 4, _PI_LOW[t.dtype] / 4
    return select(steep, (angle + low) + high, angle)


def _complement(angle: RegisterTerm, fraction: float) -> RegisterTerm:
    """π·fraction - angle"""
    return _PI_HIGH[angle.dtype] * fraction - (angle - _PI_LOW[angle.dtype] * fraction)


def atan(x: RegisterTerm) -> RegisterTerm:
    a = abs(x)
    over = a.compare("ogt", 1.0)
    one = a.lift(1.0)
    angle = _arc(select(over, one, a), select(over, a, one))
    return select(over, _complement(angle, 0.5), angle).copysign(x)


def atan2(y: RegisterTerm, x: RegisterTerm) -> RegisterTerm:
    a, b = abs(y), abs(x)
    over = a.compare("ogt", b)
    small, large = select(over, b, a), select(over, a, b)
    # 0/0 means the angle 0 and ∞/∞ means π/4 here: divide by 1, or 1 by 1
    both_infinite = small.compare("oeq", math.inf)
    one = small.lift(1.0)
    small = select(both_infinite, one, small)
    large = select(large.compare("oeq", 0.0) | both_infinite, one, large)
    angle = _arc(small, large)
    angle = select(over, _complement(angle, 0.5), angle)
    left = x.bits().compare("slt", 0)
    angle = select(left, _complement(angle, 1.0), angle)
    return select(x.compare("uno", y), x + y, angle).copysign(y)
