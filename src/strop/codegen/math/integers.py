"""Quotients, remainders, shifts and integer powers, with torch's results where C leaves them undefined.

An integer divided by zero gives 0 (eager raises; generated code must not trap), the smallest integer divided by -1
wraps, a shift by the width or more (or by a negative count) shifts everything out.
"""

from __future__ import annotations

import math

from strop.codegen.algebra import WIDTH, RegisterTerm, fma, select

#: each step of `fmod` divides the quotient by at least 2^50, and f32 quotients end at 2^277
_FMOD_STEPS = 6


def _quotient(x: RegisterTerm, y: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """x/y towards zero and the remainder."""
    zero, minus_one = y.compare("eq", 0), y.compare("eq", -1)
    quotient = x.op("sdiv", select(zero | minus_one, y.lift(1), y))
    quotient = select(minus_one, -x, quotient)
    quotient = select(zero, x.lift(0), quotient)
    return quotient, select(zero, x.lift(0), x - quotient * y)


def _disagree(remainder: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """Rounding down differs from rounding to zero: there is a remainder, and its sign is not the divisor's."""
    if not y.is_float:
        return remainder.compare("ne", 0) & (remainder ^ y).compare("slt", 0)
    return remainder.compare("une", 0.0) & (remainder.compare("olt", 0.0) ^ y.compare("olt", 0.0))


def truncdiv(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    return (x / y).call("llvm.trunc") if x.is_float else _quotient(x, y)[0]


def floordiv(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    if not x.is_float:
        quotient, remainder = _quotient(x, y)
        return select(_disagree(remainder, y), quotient - 1, quotient)
    remainder = fmod(x, y)
    exact = (x - remainder) / y
    exact = select(_disagree(remainder, y), exact - 1.0, exact)
    floor = exact.call("llvm.floor")
    floor = select((exact - floor).compare("ogt", 0.5), floor + 1.0, floor)
    plain = x / y
    floor = select(exact.compare("une", 0.0), floor, plain.lift(0.0).copysign(plain))
    return select(y.compare("oeq", 0.0), plain, floor)


def mod(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    remainder = fmod(x, y)
    return select(_disagree(remainder, y), remainder + y, remainder)


def fmod(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    if not x.is_float:
        return _quotient(x, y)[1]
    if x.dtype == "f64":
        return x.op("frem", y)
    return _fmod_f32(x, y)


def _fmod_f32(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """Long division in double precision, 50 bits of the quotient at a time; every subtraction is exact."""
    rest, divisor = abs(x).convert("fpext", "f64"), abs(y).convert("fpext", "f64")
    for _ in range(_FMOD_STEPS):
        rest = fma(-(rest / divisor).call("llvm.trunc"), divisor, rest)
    rest = select(rest.compare("olt", 0.0), rest + divisor, rest)
    rest = select(rest.compare("oge", divisor), rest - divisor, rest)
    result = rest.convert("fptrunc", "f32")
    fits = abs(x).compare("olt", abs(y))
    usable = abs(x).compare("olt", math.inf) & abs(y).compare("ogt", 0.0)
    result = select(fits, abs(x), select(usable, result, math.nan)).copysign(x)
    return select(x.compare("uno", y), x + y, result)


def shl(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """Unsigned comparison: a negative count is a huge one."""
    width = WIDTH[x.dtype]
    return select(y.compare("ult", width), x << (y & (width - 1)), 0)


def shr(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    width = WIDTH[x.dtype]
    return x >> select(y.compare("ult", width), y, width - 1)


def integer_pow(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """By squaring, over every bit of the exponent (it wraps, as eager does); a negative exponent leaves only ±1."""
    result = x.lift(1)
    power = x
    for bit in range(WIDTH[x.dtype] - 1):
        result = select((y & (1 << bit)).compare("ne", 0), result * power, result)
        power = power * power
    odd = (y & 1).compare("ne", 0)
    unit = select(x.compare("eq", -1) & odd, x, select(x.compare("eq", 1) | x.compare("eq", -1), x.lift(1), 0))
    return select(y.compare("slt", 0), unit, result)
