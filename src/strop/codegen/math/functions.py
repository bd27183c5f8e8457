"""Scalar functions as LLVM IR: one entry per pointwise operator, and `convert` between element types.

    name = FUNCTIONS["tanh"](block, "%v3", "f32", 8)              # one argument
    name = FUNCTIONS["pow"](block, "%v3", "%v4", "f32", 8)        # two; both have the given dtype
    kind = result_dtype("lt", "f32")                              # "bool"

`lanes` = 0 is scalar. Results are torch eager's, NaN, infinities and signed zeros included; f32 calls no library.
The formulas are in `math_exp`, `math_erf`, `math_trig` and `math_whole`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from strop.codegen.algebra import RegisterTerm, select
from strop.codegen.builder import CodeBlock, constant
from strop.codegen.math import byte_products, erf, exp, integers, trig
from strop.core.dtypes import BYTES
from strop.core.problem import Problem

Formula = Callable[..., RegisterTerm]
Emit = Callable[..., str]

ANY = ("f32", "f64", "i32", "i64", "bool")
NUMBERS = ("f32", "f64", "i32", "i64")
FLOATS = ("f32", "f64")
WHOLE = ("i32", "i64", "bool")
EXPONENT_BITS = {"f32": 0xFF << 23, "f64": 0x7FF << 52}


def _in_f64(formula: Formula) -> Formula:
    """An f32 result by way of f64: for functions too rare to deserve a second set of coefficients."""

    def widened(*xs: RegisterTerm) -> RegisterTerm:
        if xs[0].dtype == "f64":
            return formula(*xs)
        return formula(*(x.convert("fpext", "f64") for x in xs)).convert("fptrunc", "f32")

    return widened


def _rounding(intrinsic: str) -> Formula:
    return lambda x: x.call(intrinsic) if x.is_float else x


def _operation(on_floats: str, on_integers: str, on_bools: str = "") -> Formula:
    def formula(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
        return x.op(on_floats if x.is_float else on_bools if x.dtype == "bool" else on_integers, y)

    return formula


def _extremum(on_floats: str, on_integers: str, on_bools: str) -> Formula:
    """NaN wins. Which zero wins is left open, as in torch: saying so saves x86 three instructions."""

    def formula(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
        if x.is_float:
            return x.call(on_floats, y, flags="nsz")
        return x.op(on_bools, y) if x.dtype == "bool" else x.call(on_integers, y)

    return formula


def _comparison(on_floats: str, on_integers: str, on_bools: str) -> Formula:
    def formula(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
        return x.compare(on_floats if x.is_float else on_bools if x.dtype == "bool" else on_integers, y)

    return formula


def _sign(x: RegisterTerm) -> RegisterTerm:
    """NaN has the sign 0, as in torch."""
    if x.dtype == "bool":
        return x
    zero, one = x.lift(0), x.lift(1)
    above, below = ("ogt", "olt") if x.is_float else ("sgt", "slt")
    return select(x.compare(above, 0), one, select(x.compare(below, 0), x.lift(-1), zero))


def _absolute(x: RegisterTerm) -> RegisterTerm:
    return x if x.dtype == "bool" else abs(x)


def _is_nan(x: RegisterTerm) -> RegisterTerm:
    return x.compare("uno", x) if x.is_float else _never(x)


def _is_infinite(x: RegisterTerm) -> RegisterTerm:
    return abs(x).compare("oeq", float("inf")) if x.is_float else _never(x)


def _rank(x: RegisterTerm) -> RegisterTerm:
    """A whole number that is ordered as floats are, taken without a sign: both zeros are one, NaN is last."""
    bits = (x + 0.0).bits()
    width = 31 if x.dtype == "f32" else 63
    turned = bits ^ ((bits >> width) | -(2**width))
    return select(x.compare("uno", x), turned.lift(-1), turned)


def _exponent(x: RegisterTerm) -> RegisterTerm:
    """The bits of a number's exponent: ordered as sizes are, NaN and infinity last."""
    return x.bits() & EXPONENT_BITS[x.dtype]


def _power_of_two(x: RegisterTerm) -> RegisterTerm:
    """The number with these bits as exponent, kept where its reciprocal is a normal number too."""
    bits = EXPONENT_BITS["f32" if x.dtype == "i32" else "f64"]
    lowest = bits & -bits
    return x.call("llvm.smax", lowest).call("llvm.smin", bits - 2 * lowest).as_float()


def _never(x: RegisterTerm) -> RegisterTerm:
    return x.make(constant("bool", False, x.lanes), "bool")


def _pow(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    if not x.is_float:
        return integers.integer_pow(x, y)
    return x.call("llvm.pow", y) if x.dtype == "f64" else exp.pow_of_f32(x, y)


#: operator → its formula and the element types that it takes
_FORMULAS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "neg": (lambda x: -x, NUMBERS),
    "abs": (_absolute, ANY),
    "sign": (_sign, ANY),
    "exp": (exp.exp, FLOATS),
    "exp_nonpositive": (exp.exp_nonpositive, FLOATS),
    "exp2": (exp.exp2, FLOATS),
    "expm1": (exp.expm1, FLOATS),
    "log": (exp.log, FLOATS),
    "log2": (exp.log2, FLOATS),
    "log10": (exp.log10, FLOATS),
    "log1p": (exp.log1p, FLOATS),
    "sqrt": (lambda x: x.call("llvm.sqrt"), FLOATS),
    "rsqrt": (lambda x: 1.0 / x.call("llvm.sqrt"), FLOATS),
    "reciprocal": (lambda x: 1.0 / x, FLOATS),
    "sin": (trig.sin, FLOATS),
    "cos": (trig.cos, FLOATS),
    "tan": (trig.tan, FLOATS),
    "asin": (trig.asin, FLOATS),
    "acos": (trig.acos, FLOATS),
    "atan": (trig.atan, FLOATS),
    "sinh": (_in_f64(exp.sinh), FLOATS),
    "cosh": (_in_f64(exp.cosh), FLOATS),
    "tanh": (exp.tanh, FLOATS),
    "asinh": (_in_f64(exp.asinh), FLOATS),
    "acosh": (_in_f64(exp.acosh), FLOATS),
    "atanh": (_in_f64(exp.atanh), FLOATS),
    "erf": (erf.erf, FLOATS),
    "erfc": (_in_f64(erf.erfc), FLOATS),
    "sigmoid": (exp.sigmoid, FLOATS),
    "silu": (exp.silu, FLOATS),
    "gelu": (erf.gelu, FLOATS),
    "gelu_tanh": (exp.gelu_tanh, FLOATS),
    "mish": (exp.mish, FLOATS),
    "softplus": (exp.softplus, FLOATS),
    "floor": (_rounding("llvm.floor"), NUMBERS),
    "ceil": (_rounding("llvm.ceil"), NUMBERS),
    "round": (_rounding("llvm.roundeven"), NUMBERS),
    "trunc": (_rounding("llvm.trunc"), NUMBERS),
    "not": (lambda x: ~x, WHOLE),
    "isnan": (_is_nan, ANY),
    "isinf": (_is_infinite, ANY),
    "rank": (_rank, FLOATS),
    "watch": (lambda x: x, FLOATS),
    "exponent": (_exponent, FLOATS),
    "power_of_two": (_power_of_two, ("i32", "i64")),
    "ult": (lambda x, y: x.compare("ult", y), ("i32", "i64")),
    "add": (_operation("fadd", "add", "or"), ANY),
    "sub": (_operation("fsub", "sub"), NUMBERS),
    "mul": (_operation("fmul", "mul", "and"), ANY),
    "div": (lambda x, y: x / y, FLOATS),
    "floordiv": (integers.floordiv, NUMBERS),
    "truncdiv": (integers.truncdiv, NUMBERS),
    "mod": (integers.mod, NUMBERS),
    "fmod": (integers.fmod, NUMBERS),
    "pow": (_pow, NUMBERS),
    "atan2": (trig.atan2, FLOATS),
    "maximum": (_extremum("llvm.maximum", "llvm.smax", "or"), ANY),
    "minimum": (_extremum("llvm.minimum", "llvm.smin", "and"), ANY),
    "and": (lambda x, y: x & y, WHOLE),
    "or": (lambda x, y: x | y, WHOLE),
    "xor": (lambda x, y: x ^ y, WHOLE),
    "shl": (integers.shl, ("i32", "i64")),
    "shr": (integers.shr, ("i32", "i64")),
    "dot4": (byte_products.dot4, ("i32",)),
    "join": (byte_products.join, ("i32",)),
    "copysign": (lambda x, y: x.copysign(y), FLOATS),
    "eq": (_comparison("oeq", "eq", "eq"), ANY),
    "ne": (_comparison("une", "ne", "ne"), ANY),
    "lt": (_comparison("olt", "slt", "ult"), ANY),
    "le": (_comparison("ole", "sle", "ule"), ANY),
    "gt": (_comparison("ogt", "sgt", "ugt"), ANY),
    "ge": (_comparison("oge", "sge", "uge"), ANY),
}
_TO_BOOL = frozenset(("isnan", "isinf", "ult", "eq", "ne", "lt", "le", "gt", "ge"))


def supports(op: str, dtype: str) -> bool:
    return op in _FORMULAS and dtype in _FORMULAS[op][1]


def result_dtype(op: str, dtype: str) -> str:
    if op == "power_of_two":
        return "f32" if dtype == "i32" else "f64"
    if op in ("rank", "exponent"):
        return "i32" if dtype == "f32" else "i64"
    return "bool" if op in _TO_BOOL else dtype


def _emit(op: str, b: CodeBlock, *args: str | int) -> str:
    *names, dtype, lanes = args
    formula, accepted = _FORMULAS[op]
    if dtype not in accepted:
        raise Problem("STR305", f"{op} has no code for {dtype}", help=f"cast to one of {', '.join(accepted)} first")
    return formula(*(RegisterTerm(b, str(name), str(dtype), int(lanes)) for name in names)).name


#: operator → `emit(block, argument…, dtype, lanes)`, which returns the name of the result
FUNCTIONS: dict[str, Emit] = {op: partial(_emit, op) for op in _FORMULAS}


def convert(b: CodeBlock, x: str, source: str, target: str, lanes: int) -> str:
    """`cast`: floats truncate to integers, saturating, and NaN becomes 0 (never poison); to bool means ≠ 0.

    A byte is the i32 of its value, and what becomes one keeps its lowest bits."""
    if source == target:
        return x
    if source in BYTES or target in BYTES:
        wide = convert(b, x, "i32" if source in BYTES else source, "i32" if target in BYTES else target, lanes)
        return byte_products.narrowed(RegisterTerm(b, wide, "i32", lanes), target).name if target in BYTES else wide
    value = RegisterTerm(b, x, source, lanes)
    if target == "bool":
        return value.compare("une" if value.is_float else "ne", 0).name
    if source == "bool":
        return value.convert("uitofp" if target in FLOATS else "zext", target).name
    if value.is_float:
        if target in FLOATS:
            return value.convert("fpext" if target == "f64" else "fptrunc", target).name
        return _to_integer(value, target).name
    if target in FLOATS:
        return value.convert("sitofp", target).name
    return value.convert("sext" if target == "i64" else "trunc", target).name


#: (float, integer) → the smallest float past the integers, and the largest one below
_PAST = {
    ("f32", "i32"): (2.0**31, 2.0**31 - 2.0**7), ("f64", "i32"): (2.0**31, 2.0**31 - 1),
    ("f32", "i64"): (2.0**63, 2.0**63 - 2.0**39), ("f64", "i64"): (2.0**63, 2.0**63 - 2.0**10),
}  # fmt: skip


def _to_integer(x: RegisterTerm, target: str) -> RegisterTerm:
    """Limits first, then what they changed: LLVM takes its own saturating conversion apart into single elements."""
    past, below = _PAST[x.dtype, target]
    inside = select(x.compare("olt", past), x, below)
    inside = select(inside.compare("oge", -past), inside, -past)
    whole = inside.convert("fptosi", target)
    whole = select(x.compare("oge", past), whole.lift(int(past) - 1), whole)
    return select(x.compare("uno", x), whole.lift(0), whole)
