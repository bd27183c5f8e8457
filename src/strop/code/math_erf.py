"""erf and erfc.

f32 erf: an odd polynomial below 1.125, a polynomial around 2.5 above it, no exponential: on 8 or 16 lanes two
polynomials cost less than one of them and an exp. f64, and erfc: exp(-x²) times a polynomial in (x - 3)/(x + 3).
"""

from __future__ import annotations

from strop.code.algebra import Term, at_least, at_most, fma, polynomial, select
from strop.code.math_exp import exp
from strop.code.math_tables import ERF_FAR, ERF_NEAR, ERFCX

_SPLIT = {"f32": 1.125, "f64": 0.5}
#: from the end on the result is the polynomial's there, which rounds to exactly 1
_FAR_CENTRE, _FAR_END = 2.5225, 3.89
_ERFCX_POLE, _ERFC_IS_ZERO = 3.0, 28.0


def erf(x: Term) -> Term:
    a = abs(x)
    is_near = a.compare("olt", _SPLIT[x.dtype])
    far = _far_f32(a) if x.dtype == "f32" else 1.0 - _erfc_far(a)
    return select(is_near, _near(x), far.copysign(x))


def _near(x: Term) -> Term:
    return fma(x, polynomial(x * x, ERF_NEAR[x.dtype]), x)


def _far_f32(a: Term) -> Term:
    return polynomial(at_most(a, _FAR_END) - _FAR_CENTRE, ERF_FAR["f32"])


def _erfc_far(a: Term) -> Term:
    """erfc(a) for a ≥ ½ in f64. a² = square + rest exactly, because e^(-a²) magnifies its rounding a²-fold."""
    a = at_least(at_most(a, _ERFC_IS_ZERO), _SPLIT["f64"])
    square = a * a
    rest = fma(a, a, -square)
    bell = exp(-square)
    bell = fma(-rest, bell, bell)
    p = polynomial((a - _ERFCX_POLE) / (a + _ERFCX_POLE), ERFCX["f64"])
    return bell * p / fma(a, 2.0, 1.0)


def erfc(x: Term) -> Term:
    """In f64; an f32 argument is widened by the caller."""
    a = abs(x)
    far = _erfc_far(a)
    far = select(x.compare("olt", 0.0), 2.0 - far, far)
    return select(a.compare("olt", _SPLIT["f64"]), 1.0 - _near(x), far)
