"""erf, erfc, and GELU, which is made of erf.

f32: quotients and powers of polynomials, no exponential. f64, and erfc: exp(-x²) times a polynomial in
(x - 3)/(x + 3).
"""

from __future__ import annotations

from math import sqrt

from strop.codegen.algebra import RegisterTerm, at_least, at_most, fma, mul_add, polynomial, select
from strop.codegen.math.exp import exp
from strop.codegen.math.tables import ERF_NEAR, ERF_OVER, ERF_UNDER, ERFCX, GELU

_SPLIT = 0.5
_ERF_END = 3.85
_ERFCX_POLE, _ERFC_IS_ZERO = 3.0, 28.0


def erf(x: RegisterTerm) -> RegisterTerm:
    if x.dtype == "f32":
        return _short(x)
    a = abs(x)
    return select(a.compare("olt", _SPLIT), _near(x), (1.0 - _erfc_far(a)).copysign(x))


def _short(x: RegisterTerm) -> RegisterTerm:
    """x·P(x²)/Q(x²), which grows until the limit; within 6 units of the last place."""
    z = at_most(x * x, _ERF_END**2)
    return at_least(at_most(x * polynomial(z, ERF_OVER["f32"]) / polynomial(z, ERF_UNDER["f32"]), 1.0), -1.0)


def gelu(x: RegisterTerm) -> RegisterTerm:
    """x·Φ(x). Φ(-|x|) is the fourth power of a polynomial that falls below 0 where the tail ends, and stays there.

    Within 2.5·10⁻⁷·|x|; where x is far below 0 that is no relative accuracy, as with ½·x·(1 + erf(x/√2)).
    """
    if x.dtype == "f64":
        return x * 0.5 * (erf(x * sqrt(0.5)) + 1.0)
    root = at_least(polynomial(abs(x), (0.5**0.25, *GELU["f32"])), 0.0)
    square = root * root
    tail = square * square
    return x * select(x.bits().compare("sgt", -1), 1.0 - tail, tail)


def _near(x: RegisterTerm) -> RegisterTerm:
    return mul_add(x, polynomial(x * x, ERF_NEAR["f64"]), x)


def _erfc_far(a: RegisterTerm) -> RegisterTerm:
    """erfc(a) for a ≥ ½ in f64. a² = square + rest exactly, because e^(-a²) magnifies its rounding a²-fold."""
    a = at_least(at_most(a, _ERFC_IS_ZERO), _SPLIT)
    square = a * a
    rest = fma(a, a, -square)
    bell = exp(-square)
    bell = mul_add(-rest, bell, bell)
    p = polynomial((a - _ERFCX_POLE) / (a + _ERFCX_POLE), ERFCX["f64"])
    return bell * p / mul_add(a, 2.0, 1.0)


def erfc(x: RegisterTerm) -> RegisterTerm:
    """In f64; an f32 argument is widened by the caller."""
    a = abs(x)
    far = _erfc_far(a)
    far = select(x.compare("olt", 0.0), 2.0 - far, far)
    return select(a.compare("olt", _SPLIT), 1.0 - _near(x), far)
