"""Algebra that holds for every bit pattern: identities, involutions, exact powers, casts, views.

Floats are not reals: x + 0.0 is not x when x is -0.0, x·0 is not 0 when x is NaN, and x − x is not 0 when x is
infinite. Rules that need it ask for integers, or for a value that cannot be the exception.
"""

from __future__ import annotations

from dataclasses import replace
from math import copysign, frexp, isclose, isfinite

from strop.core.dtypes import is_float, is_integer
from strop.core.passes import Verdict
from strop.core.patterns import Bind
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.language import P, number_of, x, y, z

c, d = P.number("c"), P.number("d")
#: dtype → what it holds exactly, for casts that lose nothing
WIDENS: dict[str, tuple[str, ...]] = {
    "bool": ("u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"),
    "u8": ("i16", "i32", "i64", "f16", "bf16", "f32", "f64"),
    "i8": ("i16", "i32", "i64", "f16", "bf16", "f32", "f64"),
    "i16": ("i32", "i64", "f32", "f64"),
    "i32": ("i64", "f64"),
    "f16": ("f32", "f64"),
    "bf16": ("f32", "f64"),
    "f32": ("f64",),
}  # fmt: skip


def _as_root(x: Node, root: Node) -> Node:
    """`x` in the shape of the node it replaces (a broadcast operand may be smaller)."""
    return build.expand(x, root.shape)


def _integers(root: Node) -> bool:
    return is_integer(root.dtype)


def _truths(root: Node) -> bool:
    return root.dtype == "bool"


def _floats(root: Node) -> bool:
    return is_float(root.dtype)


def _never_minus_zero(x: Node) -> bool:
    """Whether no element can be -0.0, the one value that adding 0.0 changes."""
    if x.op in ("exp", "exp2", "sigmoid", "softmax", "abs", "cosh"):
        return True
    if x.op == "mul":
        return x.inputs[0] is x.inputs[1]
    addends = [number_of(i) for i in x.inputs] if x.op == "add" else []
    return any(n is not None and (n != 0 or copysign(1.0, n) > 0) for n in addends)


def _has_exact_reciprocal(c: float) -> bool:
    """A power of two whose reciprocal is a normal float32 too."""
    mantissa, exponent = frexp(c)
    return abs(mantissa) == 0.5 and -100 < exponent < 100


def _same_side_of_one(root: Node, c: float, d: float) -> bool:
    """(x·c)·d overflows or underflows where x·(c·d) does, if both factors shrink or both grow."""
    if not is_float(root.dtype):
        return is_integer(root.dtype)
    product = abs(c * d)
    shrink, grow = max(abs(c), abs(d)) <= 1, min(abs(c), abs(d)) >= 1
    return isfinite(product) and 1e-30 < product < 1e30 and (shrink or grow)


def _same_sign(root: Node, c: float, d: float) -> bool:
    """x + c + d equals x + (c + d) up to rounding unless the two cancel."""
    return is_integer(root.dtype) or (is_float(root.dtype) and c * d > 0 and isfinite(c + d))


def _counts(match: Match, x: Node, s: Node, c: float) -> Verdict | bool:
    """Whether `c` is the number of elements that each element of the sum `s` adds up, which nobody else needs."""
    counts = is_float(s.dtype) and s.type.size > 0 and isclose(c, x.type.size / s.type.size, rel_tol=1e-6)
    return counts and replace(match, interior=(s,)).alone()


def _mean(x: Node, s: Node) -> Node:
    return build.reduce("mean", x, s.attrs["dims"], s.attrs["keepdim"])


arithmetic = Rules(
    Rule("x·1 → x", P.op("mul", x, P.either(1, 1.0)), _as_root),
    Rule("x/1 → x", P.div(x, P.either(1, 1.0)), _as_root),
    Rule("x − 0 → x", P.sub(x, P.either(0, 0.0)), _as_root),
    Rule("x + -0.0 → x", P.add(x, -0.0), _as_root),
    Rule("x + 0 → x", P.add(x, P.either(0, 0.0)), _as_root,
         lambda root, x: is_integer(root.dtype) or _never_minus_zero(x)),
    Rule("x·0 → 0", P.mul(x, 0), lambda root: build.full(0, root.dtype, root.shape), _integers),
    Rule("x − x → 0", P.sub(x, x), lambda root: build.full(0, root.dtype, root.shape), _integers),
    Rule("x·-1 → -x", P.mul(x, P.either(-1, -1.0)), lambda x, root: build.neg(_as_root(x, root))),
    Rule("-(-x) → x", P.neg(P.neg(x)), lambda x: x),
    Rule("x + -y → x − y", P.add(x, P.neg(y)), lambda x, y: build.sub(x, y)),
    Rule("x − -y → x + y", P.sub(x, P.neg(y)), lambda x, y: build.add(x, y)),
    Rule("(x·c)·d → x·(c·d)", P.mul(P.mul(x, c), d), lambda x, c, d, root: _as_root(build.mul(x, c * d), root),
         _same_side_of_one),
    Rule("(x+c)+d → x+(c+d)", P.add(P.add(x, c), d), lambda x, c, d, root: _as_root(build.add(x, c + d), root),
         _same_sign),
    Rule("x/2ⁿ → x·2⁻ⁿ", P.div(x, c), lambda x, c, root: _as_root(build.mul(x, 1.0 / c), root),
         lambda root, c: is_float(root.dtype) and _has_exact_reciprocal(c)),
    Rule("1/√x → rsqrt", P.either(P.reciprocal(P.sqrt(x)), P.div(1.0, P.sqrt(x))),
         lambda x, root: _as_root(build.rsqrt(x), root)),
    Rule("1/x → reciprocal", P.div(1.0, x), lambda x, root: _as_root(build.reciprocal(x), root)),
    Rule("sum/count → mean", P.div(Bind("s", P.op("sum", x)), c), _mean, _counts),
    Rule("sum·(1/count) → mean", P.mul(Bind("s", P.op("sum", x)), c), _mean,
         lambda match, x, s, c: c != 0 and _counts(match, x, s, 1.0 / c)),
)  # fmt: skip

#: eager special-cases these exponents in the same way
powers = Rules(
    Rule("x⁰ → 1", P.pow(x, P.either(0, 0.0)), lambda root: build.full(1, root.dtype, root.shape)),
    Rule("x¹ → x", P.pow(x, P.either(1, 1.0)), _as_root),
    Rule("x² → x·x", P.pow(x, P.either(2, 2.0)), lambda x, root: _as_root(build.mul(x, x), root)),
    Rule("x³ → x·x·x", P.pow(x, P.either(3, 3.0)), lambda x, root: _as_root(build.mul(build.mul(x, x), x), root)),
    Rule("x^½ → √x", P.pow(x, 0.5), lambda x, root: _as_root(build.sqrt(x), root), _floats),
    Rule("x^-½ → rsqrt", P.pow(x, -0.5), lambda x, root: _as_root(build.rsqrt(x), root), _floats),
    Rule("x⁻¹ → 1/x", P.pow(x, -1.0), lambda x, root: _as_root(build.reciprocal(x), root), _floats),
)

idempotent = Rules(
    Rule("relu∘relu → relu", P.relu(Bind("r", P.relu(x))), lambda r: r),
    Rule("abs∘abs → abs", P.abs(Bind("r", P.abs(x))), lambda r: r),
    Rule("|−x| → |x|", P.abs(P.neg(x)), lambda x: build.unary("abs", x)),
    Rule("max(x, 0) → relu", P.maximum(x, P.either(0, 0.0)), lambda x, root: _as_root(build.relu(x), root)),
    Rule("max(x, x) → x", P.op(("maximum", "minimum", "and", "or"), x, x), lambda x: x),
    Rule("x and true → x", P.op("and", x, True), _as_root, _truths),
    Rule("x or false → x", P.op("or", x, False), _as_root, _truths),
    Rule("x and false → false", P.op("and", x, False), lambda root: build.full(False, root.dtype, root.shape),
         _truths),
    Rule("x or true → true", P.op("or", x, True), lambda root: build.full(True, root.dtype, root.shape), _truths),
    Rule("not∘not → x", P.not_(P.not_(x)), lambda x: x),
)  # fmt: skip

choices = Rules(
    Rule("where(true, x, y) → x", P.where(True, x, y), _as_root),
    Rule("where(false, x, y) → y", P.where(False, x, y), lambda y, root: _as_root(y, root)),
    Rule("where(c, x, x) → x", P.where(y, x, x), _as_root),
    Rule("where(not c, x, y) → where(c, y, x)", P.where(P.not_(z), x, y), lambda x, y, z: build.where(z, y, x)),
    Rule("cast to itself → x", P.cast(x), lambda x: x, lambda x, root: x.dtype == root.dtype),
    Rule("cast of an exact cast → one cast", P.cast(Bind("inner", P.cast(x))),
         lambda x, root: build.cast(x, root.dtype),
         lambda x, inner: inner.dtype in WIDENS.get(x.dtype, ())),
)  # fmt: skip

rules = arithmetic + powers + idempotent + choices
