"""Scalar functions in generated code: errors in units of the last place, edge cases, and torch's integer semantics."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import torch

from scalar_jit import NUMPY, Compiled
from strop.codegen.builder import CodeBlock
from strop.codegen.math.functions import FUNCTIONS, convert, result_dtype, supports
from strop.core.problem import Problem
from strop.graph.operators import BINARY, COMPARE, UNARY

_POSITIVE = (0.0, 1.0, 0.5, 2.0, np.inf, 1e-45, 1e-39, 3.4e38, 90.0)
EDGES = (*_POSITIVE, *(-x for x in _POSITIVE), np.nan)
#: functions that the loops have and graphs spell differently
PRIMITIVES = ("exp_nonpositive", "silu", "gelu", "gelu_tanh", "mish", "softplus")
#: units in the last place; no argument may be further off
F32_LIMITS = {
    "exp": 1.0, "exp2": 1.0, "expm1": 2.0, "log": 1.0, "log2": 2.0, "log10": 2.0, "log1p": 1.6, "tanh": 2.0,
    "sigmoid": 5.5, "silu": 6.5, "erf": 6.0, "erfc": 0.51, "sin": 1.6, "cos": 1.6, "tan": 4.0, "asin": 2.5, "acos": 2.0, "atan": 2.5,
    "sinh": 0.51, "cosh": 0.51, "asinh": 0.51, "acosh": 0.51, "atanh": 0.51, "sqrt": 0.51, "rsqrt": 1.51,
    "reciprocal": 0.51,
}  # fmt: skip
F64_LIMITS = {
    "exp": 1.0, "exp2": 1.0, "expm1": 2.0, "log": 1.0, "log2": 2.0, "log10": 2.0, "log1p": 2.0, "tanh": 2.0,
    "sigmoid": 2.0, "erf": 2.0, "erfc": 4.0, "sin": 1.0, "cos": 1.0, "tan": 1.0, "asin": 2.0, "acos": 2.0, "atan": 2.5,
    "sinh": 2.5, "cosh": 2.0, "asinh": 3.0, "acosh": 3.0, "atanh": 3.0, "sqrt": 0.51, "rsqrt": 1.51, "reciprocal": 0.51,
}  # fmt: skip
WIDE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    **{op: lambda x, op=op: getattr(torch, op)(torch.from_numpy(x)).numpy() for op in ("erf", "erfc", "sigmoid")},
    "silu": lambda x: x / (1 + np.exp(-x)),
}  # fmt: skip
#: |error|/|x| of functions that go from 0 to x: below 0 they end in what 1 + erf and its like leave
SHARE_LIMITS: dict[str, tuple[float, Callable[[torch.Tensor], torch.Tensor]]] = {
    "gelu": (2.5e-7, torch.nn.functional.gelu),
    "gelu_tanh": (1.5e-7, lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "mish": (1.5e-7, torch.nn.functional.mish),
}
#: instructions per vector, on AVX-512 and on AVX2
MOST_INSTRUCTIONS = {
    "exp_nonpositive": 12, "sigmoid": 13, "silu": 13, "tanh": 20, "gelu": 15, "gelu_tanh": 16, "erf": 16, "mish": 17,
    "softplus": 23,
}  # fmt: skip


def compiled(op: str, dtype: str, lanes: int, arity: int = 1, fused: bool = True) -> Compiled:
    def emit(block: CodeBlock, names: tuple[str, ...]) -> str:
        return FUNCTIONS[op](block, *names, dtype, lanes)

    return Compiled(emit, (dtype,) * arity, result_dtype(op, dtype), lanes, fused)


def units(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """|got - want| in units of the last place of `want`; infinite where one is NaN or infinite and the other is not."""
    rounded = want.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error = np.abs(got.astype(want.dtype) - want) / np.spacing(np.abs(rounded)).astype(want.dtype)
    return np.where(same & ~np.isfinite(rounded), 0, np.where(np.isnan(error), np.inf, error))


@pytest.fixture(autouse=True)
def quiet() -> object:
    with np.errstate(all="ignore"):
        yield


def f32_samples() -> np.ndarray:
    every_exponent = np.arange(0, 2**32, 21101, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.random.default_rng(0).uniform(-12, 12, 200_000).astype(np.float32)
    return np.concatenate([every_exponent, near, near / 12, np.array(EDGES, np.float32)])


#: more units of the last place where a product and a sum are rounded one after the other
UNFUSED = 0.4


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("op", F32_LIMITS)
def test_f32_error_is_small_for_all_arguments(op: str, fused: bool) -> None:
    x = f32_samples()
    wide = x.astype(np.float64)
    want = WIDE[op](wide) if op in WIDE else getattr(np, op)(wide)
    if op in ("sigmoid", "silu"):  # 2^n overflows there and the quotient is 0; silu(-inf) is -inf/inf, in eager too
        want = np.where(wide < -88.376, 0.0 if op == "sigmoid" else np.where(np.isinf(wide), np.nan, -0.0), want)
    got = compiled(op, "f32", 16, fused=fused)(x)
    error = units(got, want)
    worst = int(np.argmax(error))
    limit = F32_LIMITS[op] + (0 if fused else UNFUSED)
    assert error[worst] <= limit, f"{op}({x[worst]!r}) = {got[worst]!r}, not {want[worst]!r}: {error[worst]}"
    zero = (want == 0) & (got == 0)
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def dense_samples() -> np.ndarray:
    every_exponent = np.arange(0, 2**32, 2111, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([every_exponent, np.linspace(-12, 12, 1_000_000, dtype=np.float32)])


@pytest.mark.parametrize("op", SHARE_LIMITS)
def test_f32_activations_keep_a_share_of_their_argument(op: str) -> None:
    x = dense_samples()
    x = x[np.isfinite(x)]
    limit, wide = SHARE_LIMITS[op]
    got, want = compiled(op, "f32", 16)(x), wide(torch.from_numpy(x).double()).numpy()
    error = np.abs(got.astype(np.float64) - want)
    bound = limit * np.abs(x.astype(np.float64)) + 1.5e-45
    worst = int(np.argmax(error / bound))
    assert error[worst] <= bound[worst], f"{op}({x[worst]!r}) = {got[worst]!r}, not {want[worst]!r}"
    assert np.array_equal(np.signbit(got), np.signbit(x))


@pytest.mark.parametrize("op", SHARE_LIMITS)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_activations_that_go_from_zero_to_their_argument_at_the_ends(op: str, dtype: str) -> None:
    got = compiled(op, dtype, 8)(np.array([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e37, -1e37], NUMPY[dtype]))
    # -inf·0 is NaN, as in eager
    want = np.array([np.inf, np.nan, np.nan, np.nan, 0.0, -0.0, 1e37, -0.0], NUMPY[dtype])
    assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(np.signbit(got[4:]), np.signbit(want[4:]))


@pytest.mark.parametrize("op", SHARE_LIMITS)
def test_f64_activations_agree_with_eager(op: str) -> None:
    x = np.concatenate([np.linspace(-30, 30, 40_001), 10.0 ** np.linspace(-300, 0, 1_001)])
    want = SHARE_LIMITS[op][1](torch.from_numpy(x)).numpy()
    assert np.all(np.abs(compiled(op, "f64", 4)(x) - want) <= 4e-16 * np.abs(x))


def test_exp_of_what_is_not_positive() -> None:
    x = dense_samples()
    x = -np.abs(x[~np.isnan(x)])
    got, want = compiled("exp_nonpositive", "f32", 16)(x), np.exp(x.astype(np.float64))
    error = units(got, want)
    assert error[x > -20].max() <= 2.5
    assert error[x > -87.3].max() <= 5.0
    assert np.abs(got[x <= -87.3] - want[x <= -87.3]).max() <= 7 * 2.0**-149  # of the smallest subnormal number
    ends = compiled("exp_nonpositive", "f32", 16)(
        np.array([0.0, -0.0, -1e-45, -105.0, -1e30, -np.inf, np.nan], np.float32)
    )
    assert np.array_equal(ends, np.array([1, 1, 1, 0, 0, 0, np.nan], np.float32), equal_nan=True)


@pytest.mark.parametrize(("dtype", "limit"), [("f32", 4.0), ("f64", 3.0)])
def test_softplus_overflows_nowhere(dtype: str, limit: float) -> None:
    x = np.concatenate([np.linspace(-86, 86, 200_001), 10.0 ** np.linspace(-20, 30, 1_001)]).astype(NUMPY[dtype])
    wide = x.astype(np.longdouble)
    want = np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide)))
    assert units(compiled("softplus", dtype, 8)(x), want).max() <= limit
    ends = compiled("softplus", dtype, 8)(np.array([np.inf, -np.inf, np.nan, -1e30], NUMPY[dtype]))
    assert np.array_equal(ends, np.array([np.inf, 0, np.nan, 0], NUMPY[dtype]), equal_nan=True)


@pytest.mark.parametrize("op", ["tanh", "erf"])
def test_what_saturates_never_passes_one(op: str) -> None:
    x = np.abs(dense_samples())
    got = compiled(op, "f32", 16)(x)
    assert np.nanmax(got) == 1.0
    assert np.all(got[x > 9.1] == 1.0)


@pytest.mark.parametrize(("cpu", "lanes"), [("znver4", 16), ("znver3", 8)])
@pytest.mark.parametrize("op", MOST_INSTRUCTIONS)
def test_f32_functions_take_few_instructions(op: str, cpu: str, lanes: int) -> None:
    vectors = [line for line in compiled(op, "f32", lanes).loop(cpu) if line.startswith("v")]
    computing = [line for line in vectors if "{%k" in line or not line.startswith(("vmov", "vbroadcast"))]
    assert len(computing) <= MOST_INSTRUCTIONS[op], computing


def f64_samples() -> np.ndarray:
    random = np.random.default_rng(0)
    every_exponent = random.integers(0, 2**64, 300, dtype=np.uint64).view(np.float64)
    spans = [random.uniform(low, high, count) for low, high, count in ((-1, 1, 300), (-30, 30, 300), (-745, 710, 100))]
    return np.concatenate([every_exponent, *spans])


PRECISE: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "exp2": lambda x: mpmath.power(2, x), "log2": lambda x: mpmath.log(x, 2), "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "reciprocal": lambda x: 1 / x,
}  # fmt: skip


def precisely(op: str, x: float) -> mpmath.mpf | None:
    """The result with many digits; None where it is undefined, overflows or is denormal."""
    grows = op in ("sinh", "cosh", "exp", "expm1", "exp2", "sigmoid")
    if not np.isfinite(x) or (grows and not -709 < x < 709):
        return None
    with mpmath.workprec(200 if abs(x) > 1e-30 else 1400):
        try:
            value = PRECISE[op](mpmath.mpf(x)) if op in PRECISE else getattr(mpmath, op)(mpmath.mpf(x))
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return value if isinstance(value, mpmath.mpf) and 2.0**-1020 < abs(value) < 2.0**1023 else None


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("op", F64_LIMITS)
def test_f64_error_is_small(op: str, fused: bool) -> None:
    x = f64_samples()
    got = compiled(op, "f64", 4, fused=fused)(x)
    limit = F64_LIMITS[op] + (0 if fused else UNFUSED)
    checked = 0
    for argument, result in zip(x, got, strict=True):
        want = precisely(op, float(argument))
        if want is None:
            continue
        checked += 1
        error = float(abs(mpmath.mpf(float(result)) - want) / mpmath.mpf(float(np.spacing(abs(float(want))))))
        assert error <= limit, f"{op}({argument!r}) = {result!r}: {error:.2f} ulp"
    assert checked > 100


def test_remainders_are_exact_without_fused_products() -> None:
    x, y = (np.random.default_rng(seed).lognormal(0, 20, 40_000).astype(np.float32) for seed in (1, 2))
    got = compiled("fmod", "f32", 8, arity=2, fused=False)(x, y)
    assert np.array_equal(got, np.fmod(x, y), equal_nan=True)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", [*F32_LIMITS, "neg", "abs", "sign", "floor", "ceil", "round", "trunc", "isnan", "isinf"])
def test_edges_are_those_of_eager(op: str, dtype: str) -> None:
    x = np.array([*EDGES, 1.5, 2.5, -1.5, -2.5, 0.49999997, 1e9 + 0.5], NUMPY[dtype])
    got = compiled(op, dtype, 8)(x)
    want = getattr(torch, op, None) or getattr(torch.nn.functional, op)
    want = want(torch.from_numpy(x)).numpy()
    if got.dtype == np.bool_:
        assert np.array_equal(got, want)
        return
    assert np.array_equal(np.isnan(got), np.isnan(want)), (x, got, want)
    exact = ~np.isfinite(want) | (want == 0)
    # eager flushes some denormal results that we keep
    exact &= (np.abs(got) > 1e-37) | (got == 0)
    assert np.array_equal(got[exact], want[exact], equal_nan=True), (x[exact], got[exact], want[exact])
    assert np.allclose(got, want, rtol=1e-6 if dtype == "f32" else 1e-14, atol=1e-37, equal_nan=True)


@pytest.mark.parametrize("lanes", [0, 2, 3, 7, 16])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_every_width_gives_the_same_bits(lanes: int, dtype: str) -> None:
    x = np.linspace(-4, 4, 97).astype(NUMPY[dtype])
    for op in ("exp", "tanh", "erf", "sigmoid", "log", "sin", "atan"):
        assert np.array_equal(compiled(op, dtype, lanes)(x), compiled(op, dtype, 4)(x), equal_nan=True), op


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(values, values)
    return np.ascontiguousarray(x.ravel()), np.ascontiguousarray(y.ravel())


TORCH_BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "mod": torch.remainder, "fmod": torch.fmod,
    "floordiv": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "truncdiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "pow": torch.pow, "atan2": torch.atan2, "copysign": torch.copysign,
    "maximum": torch.maximum, "minimum": torch.minimum,
    "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}  # fmt: skip


def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


#: eager's vector code gives NaN where the quotient is huge, its scalar code the remainder: we always give the remainder
EXACT_BINARY = {"fmod": np.fmod, "mod": remainder}


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", [op for op in (*BINARY, *COMPARE) if supports(op, "f32")])
def test_two_floats_as_in_eager(op: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    scattered = random.normal(size=30) * 10.0 ** random.integers(-6, 7, 30)
    x, y = pairs(np.array([*EDGES, 3.0, -3.0, 7.0, 1e10, -7.5, 0.1, *scattered], NUMPY[dtype]))
    got = compiled(op, dtype, 8, 2)(x, y)
    eager = TORCH_BINARY[op](torch.from_numpy(x), torch.from_numpy(y)).numpy()
    want = EXACT_BINARY[op](x, y) if op in EXACT_BINARY else eager
    exact = op not in ("pow", "atan2")
    close = got == want if exact else np.isclose(got, want, rtol=1e-6 if dtype == "f32" else 1e-14, atol=1e-44)
    wrong = ~(close | (np.isnan(got) & np.isnan(want)))
    assert not wrong.any(), [(*t,) for t in zip(x[wrong], y[wrong], got[wrong], want[wrong], strict=True)][:8]
    if got.dtype != np.bool_ and op not in ("maximum", "minimum"):
        zero = want == 0
        assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_f32_pow_is_exact_to_the_last_place() -> None:
    random = np.random.default_rng(2)
    x = np.exp(random.uniform(-20, 20, 50_000)).astype(np.float32)
    y = random.uniform(-4, 4, 50_000).astype(np.float32)
    want = np.power(x.astype(np.float64), y.astype(np.float64))
    assert units(compiled("pow", "f32", 16, 2)(x, y), want).max() < 0.51


def test_f32_fmod_is_exact_for_quotients_of_any_size() -> None:
    bits = np.random.default_rng(3).integers(0, 2**32, (2, 100_000), dtype=np.uint64).astype(np.uint32).view(np.float32)
    x, y = np.ascontiguousarray(bits[0]), np.ascontiguousarray(bits[1])
    assert np.array_equal(compiled("fmod", "f32", 8, 2)(x, y), np.fmod(x, y), equal_nan=True)


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("op", [op for op in (*BINARY, *COMPARE) if supports(op, "i64")])
def test_two_integers_as_in_eager(op: str, dtype: str) -> None:
    limits = np.iinfo(NUMPY[dtype])
    small = (0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 32, 63, 64, 100)
    x, y = pairs(np.array([*small, limits.max, limits.min, limits.min + 1], NUMPY[dtype]))
    divides = op in ("floordiv", "truncdiv", "mod", "fmod")
    got = compiled(op, dtype, 4, 2)(x, y)
    if divides:
        assert not got[y == 0].any()
        defined = (y != 0) & ~((x == limits.min) & (y == -1))
        x, y, got = x[defined], y[defined], got[defined]
    if op == "pow":
        keep = y >= 0  # eager refuses the others when it sees a Python number, and gives this for tensors
        inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y & 1, -1, 1), 0))
        assert np.array_equal(got[~keep], inverse[~keep])
        x, y, got = x[keep], y[keep], got[keep]
    assert np.array_equal(got, TORCH_BINARY[op](torch.from_numpy(x), torch.from_numpy(y)).numpy())


def test_smallest_integer_by_minus_one_does_not_trap() -> None:
    x, y = np.array([-(2**31)], np.int32), np.array([-1], np.int32)
    assert compiled("truncdiv", "i32", 0, 2)(x, y)[0] == -(2**31)
    assert compiled("mod", "i32", 0, 2)(x, y)[0] == 0


@pytest.mark.parametrize("op", [op for op in (*BINARY, *COMPARE) if supports(op, "bool")])
def test_two_bools_as_in_eager(op: str) -> None:
    x, y = pairs(np.array([False, True]))
    want = TORCH_BINARY[op](torch.from_numpy(x), torch.from_numpy(y)).numpy()
    assert np.array_equal(compiled(op, "bool", 4, 2)(x, y), want)


@pytest.mark.parametrize("dtype", ["i32", "i64", "bool"])
def test_one_integer_as_in_eager(dtype: str) -> None:
    x = np.array([0, 1, -1, 5, -5, np.iinfo(np.int32).min, 7, 8]).astype(NUMPY[dtype])
    names = {"not": "bitwise_not", "neg": "neg"}
    for op in ("neg", "abs", "sign", "floor", "ceil", "round", "trunc", "not", "isnan", "isinf"):
        if not supports(op, dtype):
            continue
        want = x if dtype == "bool" and op == "abs" else getattr(torch, names.get(op, op))(torch.from_numpy(x)).numpy()
        assert np.array_equal(compiled(op, dtype, 8)(x), want), op


@pytest.mark.parametrize("source", list(NUMPY))
@pytest.mark.parametrize("target", list(NUMPY))
@pytest.mark.parametrize("lanes", [0, 8])
def test_conversions_as_in_eager(source: str, target: str, lanes: int) -> None:
    x = np.array([0, 1, -1, 2.5, -2.5, 0.3, 1e6, -1e6], dtype=np.float64).astype(NUMPY[source])
    got = Compiled(lambda b, xs: convert(b, xs[0], source, target, lanes), (source,), target, lanes)(x)
    assert np.array_equal(got, torch.from_numpy(x).to(torch.from_numpy(np.empty(0, NUMPY[target])).dtype).numpy())


def test_conversion_of_what_does_not_fit_is_defined() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30], np.float32)
    to = lambda target: Compiled(lambda b, xs: convert(b, xs[0], "f32", target, 4), ("f32",), target, 4)(x)  # noqa: E731
    assert to("i32").tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1]
    assert to("bool").all()


def test_every_pointwise_operator_has_code() -> None:
    others = {"dot4", "join", "rank", "ult", "exponent", "power_of_two", "watch"}
    assert set(FUNCTIONS) == {*UNARY, *BINARY, *COMPARE, *PRIMITIVES, *others}


@pytest.mark.parametrize("lanes", [0, 8])
def test_joined_bytes_are_the_high_ones(lanes: int) -> None:
    a, b, c = (np.array([first, -1, 0, 255, 256, -256, 128, 7], np.int32) for first in (0x12345681, 0x22, 0x33))
    expected = (
        ((a & 255).astype(np.uint32) << 24) | ((b & 255) << 16).astype(np.uint32) | ((c & 255) << 8).astype(np.uint32)
    )
    joined = Compiled(lambda block, xs: FUNCTIONS["join"](block, *xs, "i32", lanes), ("i32",) * 3, "i32", lanes)(
        a, b, c
    )
    assert joined.view(np.uint32).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_exponents_are_powers_of_two_with_a_reciprocal(dtype: str) -> None:
    kind, whole = NUMPY[dtype], "i32" if dtype == "f32" else "i64"
    info = np.finfo(kind)
    x = np.array([0.0, info.smallest_subnormal, info.tiny, -0.3, 1.0, -7.9, info.max, np.inf], kind)
    exponents = compiled("exponent", dtype, 8)(x)
    assert exponents.dtype == NUMPY[whole] and np.all(np.diff(exponents[[0, 2, 3, 4, 5, 6, 7]]) > 0)
    powers = compiled("power_of_two", whole, 8)(exponents)
    largest = kind(2.0) ** (info.maxexp - 2)
    assert powers.tolist() == [info.tiny, info.tiny, info.tiny, 0.25, 1.0, 4.0, largest, largest]
    assert np.all(powers * (1 / powers) == 1) and np.all(1 / powers >= info.tiny)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_ranks_are_ordered_as_floats_are(dtype: str) -> None:
    tiny = np.finfo(NUMPY[dtype]).smallest_subnormal
    x = np.array([-np.inf, -2.5, -tiny, -0.0, 0.0, tiny, 1.0, np.nan], NUMPY[dtype])
    got = compiled("rank", dtype, 8)(x)
    ranks = got.view(np.uint32 if dtype == "f32" else np.uint64).astype(object)
    assert ranks[3] == ranks[4] and np.all(np.diff(ranks)[[0, 1, 2, 4, 5, 6]] > 0)


def test_f32_functions_call_no_library() -> None:
    for op in (*UNARY, *BINARY):
        if supports(op, "f32"):
            assembly = compiled(op, "f32", 16, 1 if op in UNARY else 2).assembly
            assert "\tcall" not in assembly, op


def test_unsupported_element_type_names_the_cast() -> None:
    with pytest.raises(Problem, match="cast to one of f32, f64"):
        compiled("exp", "i32", 4)
