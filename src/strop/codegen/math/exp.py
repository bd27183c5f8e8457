"""exp, log and what follows from them, as straight-line vector code for f32 and f64.

Every function here takes and returns `RegisterTerm`s, has no branches and calls nothing. Overflow, underflow to
denormals, infinities and NaN come out as C99 says. Errors over all arguments are held by `tests/codegen/test_math.py`.
"""

from __future__ import annotations

import math

from strop.codegen.algebra import LAYOUT, RegisterTerm, at_least, at_most, float_bits, fma, mul_add, polynomial, select
from strop.codegen.math.tables import EXP, LOG, LOG1P, SHORT_EXP, SHORT_EXP2

LOG2E = math.log2(math.e)
#: ln 2, log₂e, log₁₀2, 1/ln 10 as a rounded part and what the rounding lost
_PARTS = {
    "ln2": {"f32": (0.6931471824645996, -1.904654299957768e-09), "f64": (0.6931471805599453, 2.3190468138462996e-17)},
    "log2e": {"f32": (1.4426950216293335, 1.9259629911266175e-08), "f64": (1.4426950408889634, 2.0355273740931033e-17)},
    "log10(2)": {
        "f32": (0.3010300099849701, -1.4320988897559699e-08),
        "f64": (0.3010299956639812, -2.8037281277851704e-18),
    },
    "log10(e)": {
        "f32": (0.4342944920063019, -1.0103050052231683e-08),
        "f64": (0.4342944819032518, 1.098319650216765e-17),
    },
}
#: exp overflows above, is 0 below; between, n = round(x·log₂e) keeps every power of two used here representable
_HIGH = {"f32": 89.0, "f64": 710.0}
_LOW = {"f32": -104.0, "f64": -746.0}
_LOW_NORMAL = {"f32": -87.0, "f64": -708.0}
_COSH_HIGH = 710.8
_SIGMOID_IS_ZERO = -709.782712893384
#: e^(-x) is normal up to here; 2^n overflows before there
_SIGMOID_HIGH, _SIGMOID_LOW = 87.0, -89.0
#: 2^n is 0 there, and so is the product
_NOTHING = -88.0
_BELOW_SUBNORMAL = -105.0  # e^x is less than half of the smallest subnormal number
_SATURATED_TANH = {"f32": 10.0, "f64": 20.0}
#: GELU's tanh form is x·sigmoid(v) with v = x·(a + b·x²); where v is near -88.9 and 85
_GELU_SLOPES = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715
_GELU_LOW, _GELU_HIGH = -10.07, 9.9
_MISH_IS_X = 20.0


def parts(name: str, dtype: str) -> tuple[float, float]:
    return _PARTS[name][dtype]


def nearest(x: RegisterTerm, factor: float, bias: int) -> tuple[RegisterTerm, RegisterTerm]:
    """n = round(x·factor) as a float, and an integer whose low bits hold n + bias.

    Adding 1.5·2^mantissa leaves no room for a fraction: the sum's low bits are the rounded integer.
    """
    magic = 1.5 * 2.0 ** LAYOUT[x.dtype][1] + bias
    rounded = mul_add(x, factor, magic)
    return rounded - magic, rounded.bits()


def less_multiple(x: RegisterTerm, n: RegisterTerm, factor: float = 1.0) -> RegisterTerm:
    """x - n·factor·ln 2; the first step is exact."""
    high, low = parts("ln2", x.dtype)
    return mul_add(n, -low * factor, fma(n, -high * factor, x))


def exp(x: RegisterTerm) -> RegisterTerm:
    """2^n·e^r with |r| ≤ ln2/2. The power is applied in two halves, so that results may be denormal or overflow."""
    x = at_least(at_most(x, _HIGH[x.dtype]), _LOW[x.dtype])
    n, integer = nearest(x, LOG2E, 2 * LAYOUT[x.dtype][2])
    return scaled(polynomial(less_multiple(x, n), (1.0, 1.0, *EXP[x.dtype])), integer)


def exp_nonpositive(x: RegisterTerm) -> RegisterTerm:
    """e^x for x ≤ 0, as differences from a maximum are. Results may be subnormal, e^0 is exactly 1.

    Within 3 units of the last place down to -20, 7 below: n·ln2 is rounded once. The power of two is applied 2⁶⁴ times
    too large and taken back by a multiplication, which rounds to a subnormal number or to 0.
    """
    if x.dtype == "f64":
        return exp(x)
    return _exp_times(at_least(x, _BELOW_SUBNORMAL), 64) * 2.0**-64


def _exp_times(x: RegisterTerm, larger: int) -> RegisterTerm:
    """e^x·2^larger in f32, where that is normal; 0 where the exponent's bits come out as 0."""
    n, integer = nearest(x, LOG2E, LAYOUT["f32"][2] + larger)
    minus_r = fma(n, parts("ln2", "f32")[0], -x)
    return (integer << LAYOUT["f32"][1]).as_float() * polynomial(minus_r, (1.0, *SHORT_EXP["f32"]))


def scaled(p: RegisterTerm, integer: RegisterTerm) -> RegisterTerm:
    """p·2^(k - 2·bias) where k is in the low bits of `integer`."""
    _, mantissa, _ = LAYOUT[p.dtype]
    exponent_field = float_bits(p.dtype, math.inf)
    half = (integer << (mantissa - 1)) & exponent_field
    other = (integer << mantissa) - half
    return p * half.as_float() * other.as_float()


def exp2(x: RegisterTerm) -> RegisterTerm:
    """Only the fraction needs a multiplication by ln 2; whole numbers are exact."""
    limits = {"f32": (129.0, -151.0), "f64": (1025.0, -1077.0)}[x.dtype]
    x = at_least(at_most(x, limits[0]), limits[1])
    n, integer = nearest(x, 1.0, 2 * LAYOUT[x.dtype][2])
    r = (x - n) * parts("ln2", x.dtype)[0]
    return scaled(polynomial(r, (1.0, 1.0, *EXP[x.dtype])), integer)


def sigmoid(x: RegisterTerm) -> RegisterTerm:
    if x.dtype == "f64":
        return _sigmoid_f64(x)
    return 1.0 / _one_plus_exp_minus(at_least(at_most(x, _SIGMOID_HIGH), _SIGMOID_LOW))


def silu(x: RegisterTerm) -> RegisterTerm:
    """x/(1 + e^(-x))."""
    if x.dtype == "f64":
        return x * _sigmoid_f64(x)
    return x / _one_plus_exp_minus(_between(x, _SIGMOID_LOW, _SIGMOID_HIGH))


def gelu_tanh(x: RegisterTerm) -> RegisterTerm:
    """½x·(1 + tanh u) = x·sigmoid(2u) with u = √(2/π)·(x + 0.044715·x³), in f32 as x/(1 + 2^t)."""
    slope, bend = _GELU_SLOPES
    if x.dtype == "f64":
        return x * _sigmoid_f64(x * mul_add(x * x, bend, slope))
    inside = _between(x, _GELU_LOW, _GELU_HIGH)
    t = inside * mul_add(inside * inside, -bend * LOG2E, -slope * LOG2E)
    n, integer = nearest(t, 1.0, LAYOUT["f32"][2])
    power = (integer << LAYOUT["f32"][1]).as_float()
    return x / mul_add(power, polynomial(t - n, (1.0, *SHORT_EXP2["f32"])), 1.0)


def mish(x: RegisterTerm) -> RegisterTerm:
    """x·tanh(log(1 + e^x)) = x·n/(n + 2) with n = e^x·(e^x + 2)."""
    if x.dtype == "f64":
        return x * tanh(select(x.compare("ogt", _MISH_IS_X), x, log1p(exp(x))))
    e = _exp_times(_between(x, _NOTHING, _MISH_IS_X), 0)
    n = mul_add(e, e, e + e)
    return x * (n / (n + 2.0))


def softplus(x: RegisterTerm) -> RegisterTerm:
    """log(1 + e^x) = max(x, 0) + log(1 + e^(-|x|)), which overflows nowhere; f32 within 4 last places."""
    if x.dtype == "f64":
        return at_least(x, 0.0) + log1p(exp(-abs(x)))
    u = _exp_times(at_least(-abs(x), _NOTHING), 0)
    return mul_add(u, polynomial(u, LOG1P["f32"]), at_least(x, 0.0))


def _between(x: RegisterTerm, low: float, high: float) -> RegisterTerm:
    """x within limits of either sign by comparing whole numbers, which is cheaper; NaN does not survive."""
    return x.bits().call("llvm.umin", float_bits("f32", low)).call("llvm.smin", float_bits("f32", high)).as_float()


def _one_plus_exp_minus(x: RegisterTerm) -> RegisterTerm:
    """1 + 2^n·e^r in f32 with r = -x - n·ln2; infinite from where 2^n overflows, so that what it divides is 0.

    Within 3.2 units of the last place down to -20, 6.5 below: the product n·ln2 is rounded once.
    """
    n, integer = nearest(x, -LOG2E, LAYOUT["f32"][2])
    minus_r = fma(n, parts("ln2", "f32")[0], x)
    power = (integer << LAYOUT["f32"][1]).as_float()
    return mul_add(power, polynomial(minus_r, (1.0, *SHORT_EXP["f32"])), 1.0)


def _sigmoid_f64(x: RegisterTerm) -> RegisterTerm:
    """½/(2^(n-1) + (2^(n-1)·expm1(r) + ½)) with r = -x - n·ln2.

    1 + expm1(r) is never rounded by itself (that would cost half a unit), and halving lets n reach overflow's exponent.
    """
    _, mantissa, bias = LAYOUT[x.dtype]
    limited = at_least(at_most(x, -_LOW_NORMAL[x.dtype]), -_HIGH[x.dtype])
    n, integer = nearest(limited, -LOG2E, bias - 1)
    minus_r = less_multiple(limited, n, -1.0)
    mirrored = tuple(c * (-1) ** k for k, c in enumerate(EXP[x.dtype]))
    power = (integer << mantissa).as_float()
    tail = mul_add(minus_r * minus_r, polynomial(minus_r, mirrored), -minus_r)
    result = 0.5 / (power + mul_add(power, tail, 0.5))
    return select(x.compare("olt", _SIGMOID_IS_ZERO), x.lift(0.0), result)


def expm1_of_reduced(r: RegisterTerm) -> RegisterTerm:
    return mul_add(r * r, polynomial(r, EXP[r.dtype]), r)


def expm1(x: RegisterTerm) -> RegisterTerm:
    """2·(2^(n-1)·expm1(r) + (2^(n-1) - ½)): exact where n = 0, no overflow before its time."""
    reduced = at_least(at_most(x, _HIGH[x.dtype]), _LOW_NORMAL[x.dtype])
    _, mantissa, bias = LAYOUT[x.dtype]
    n, integer = nearest(reduced, LOG2E, bias - 1)
    power = (integer << mantissa).as_float()
    half = mul_add(power, expm1_of_reduced(less_multiple(reduced, n)), power - 0.5)
    return (half + half).copysign(x)


def tanh(x: RegisterTerm) -> RegisterTerm:
    """With E = (1 - e^(-2|x|))/2: E/(1 - E). Working downwards from e^0 keeps E free of cancellation.

    h = |x| + n·ln2/2 stands for -r/2, which saves the multiplications by two; they sit in the coefficients.
    """
    _, mantissa, bias = LAYOUT[x.dtype]
    a = at_most(abs(x), _SATURATED_TANH[x.dtype])
    n, integer = nearest(a, -2 * LOG2E, bias)
    high, low = parts("ln2", x.dtype)
    h = fma(n, high / 2, a)
    if x.dtype == "f64":
        h = mul_add(n, low / 2, h)
    v = mul_add(h * h, polynomial(h, tuple(-2 * c * (-2.0) ** k for k, c in enumerate(EXP[x.dtype]))), h)
    power = (integer << mantissa).as_float()
    numerator = mul_add(power, v, mul_add(power, -0.5, 0.5))
    denominator = mul_add(-power, v, mul_add(power, 0.5, 0.5))
    return (numerator / denominator).copysign(x)


def _half_exp(x: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """(e^|x|/2, (e^|x| - 1)/2) in f64, finite as long as cosh is."""
    _, mantissa, bias = LAYOUT[x.dtype]
    a = at_most(abs(x), _COSH_HIGH)
    n, integer = nearest(a, LOG2E, bias - 2)
    power = (integer << mantissa).as_float()
    q = expm1_of_reduced(less_multiple(a, n))
    return 2.0 * mul_add(power, q, power), 2.0 * mul_add(power, q, power - 0.25)


def cosh(x: RegisterTerm) -> RegisterTerm:
    half, _ = _half_exp(x)
    return half + 0.25 / half


def sinh(x: RegisterTerm) -> RegisterTerm:
    _, h = _half_exp(x)
    small = h + h / mul_add(h, 2.0, 1.0)
    return select(h.compare("olt", 2.0**60), small, h).copysign(x)


def _split(x: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """x = 2^e·(1 + f) with 1 + f in [√½, √2), for x > 0; e as a float."""
    mantissa = LAYOUT[x.dtype][1]
    tiny = x.compare("olt", 2.0 ** (-126 if x.dtype == "f32" else -1022))
    bits = select(tiny, x * 2.0**mantissa, x).bits()
    e = (bits - float_bits(x.dtype, math.sqrt(0.5))) >> mantissa
    f = (bits - (e << mantissa)).as_float() - 1.0
    magic = 1.5 * 2.0**mantissa
    whole = (e + float_bits(x.dtype, magic)).as_float()
    return whole - select(tiny, x.lift(magic + mantissa), magic), f


def _log_of_mantissa(f: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """log(1 + f) = f - t, as the pair (f, t): with s = f/(2 + f), t = f²/2 - s·(f²/2 + s²·P(s²))."""
    s = f / (f + 2.0)
    z = s * s
    square = f * f * 0.5
    return f, square - s * mul_add(z, polynomial(z, LOG[f.dtype]), square)


def _with_limits(x: RegisterTerm, result: RegisterTerm) -> RegisterTerm:
    """A logarithm's values at 0, ∞, NaN and below 0."""
    result = select(x.compare("olt", math.inf), result, x)
    bad = select(x.compare("oeq", 0.0), x.lift(-math.inf), math.nan)
    return select(x.compare("ugt", 0.0), result, bad)


def log(x: RegisterTerm) -> RegisterTerm:
    e, mantissa = _split(x)
    f, t = _log_of_mantissa(mantissa)
    high, low = parts("ln2", x.dtype)
    return _with_limits(x, mul_add(e, high, f - mul_add(e, -low, t)))


def log2(x: RegisterTerm) -> RegisterTerm:
    e, mantissa = _split(x)
    f, t = _log_of_mantissa(mantissa)
    high, low = parts("log2e", x.dtype)
    w = f - t
    return _with_limits(x, mul_add(w, high, mul_add(w, low, e)))


def log10(x: RegisterTerm) -> RegisterTerm:
    e, mantissa = _split(x)
    f, t = _log_of_mantissa(mantissa)
    w = f - t
    high, low = parts("log10(e)", x.dtype)
    power_high, power_low = parts("log10(2)", x.dtype)
    return _with_limits(x, mul_add(e, power_high, mul_add(w, high, mul_add(e, power_low, w * low))))


def log1p(x: RegisterTerm) -> RegisterTerm:
    """log(u) + c/u, where u = 1 + x rounded and c is what the rounding lost."""
    u = x + 1.0
    back = u - 1.0
    c = (1.0 - (u - back)) + (x - back)
    rough = log(u)
    usable = u.compare("ogt", 0.0) & u.compare("olt", math.inf)
    return select(usable, rough + c / u, rough).copysign(x)


def asinh(x: RegisterTerm) -> RegisterTerm:
    a = abs(x)
    square = a * a
    near = log1p(a + square / ((square + 1.0).call("llvm.sqrt") + 1.0))
    return select(a.compare("olt", 2.0**28), near, log(a) + math.log(2)).copysign(x)


def acosh(x: RegisterTerm) -> RegisterTerm:
    t = x - 1.0
    near = log1p(t + mul_add(t, t, t + t).call("llvm.sqrt"))
    result = select(x.compare("olt", 2.0**28), near, log(x) + math.log(2))
    return select(x.compare("oge", 1.0), result, math.nan)


def atanh(x: RegisterTerm) -> RegisterTerm:
    a = abs(x)
    return (log1p((a + a) / (1.0 - a)) * 0.5).copysign(x)


def pow_of_f32(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """|x|^y = exp(y·log|x|) in double precision, then the sign and the cases that C99 lists."""
    wide, power = x.convert("fpext", "f64"), y.convert("fpext", "f64")
    logarithm = log(abs(wide))
    exponent = select(logarithm.compare("oeq", 0.0), logarithm, power * logarithm)
    size = exp(select(power.compare("uno", power), power, exponent)).convert("fptrunc", "f32")
    return with_pow_cases(x, y, size)


def with_pow_cases(x: RegisterTerm, y: RegisterTerm, size: RegisterTerm) -> RegisterTerm:
    whole = y.call("llvm.trunc").compare("oeq", y)
    half = y * 0.5
    odd = whole & half.call("llvm.trunc").compare("one", half)
    signed = select(odd, size.copysign(x), size)
    negative = x.compare("olt", 0.0) & x.compare("ogt", -math.inf)
    undefined = negative & y.compare("one", math.inf) & y.compare("one", -math.inf) & ~whole
    result = select(undefined, x.lift(math.nan), signed)
    return select(y.compare("oeq", 0.0) | x.compare("oeq", 1.0), x.lift(1.0), result)
