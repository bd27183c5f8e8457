"""What nests mean, executed slowly: each nest becomes plain Python loops over flat lists.

The interpreter is stricter than generated code. Indices out of bounds raise, reads of elements that nothing wrote
raise, scratch forgets its values on every iteration of its nest, and parallel loops run backwards, so that a nest
which depends on their order gives a wrong answer.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from strop.graph.ir import Node, Type
from strop.loops.index import Index, Indirect, Quotient, Var
from strop.loops.ir import REDUCTIONS, Apply, Buffer, Const, Expr, Load, Nest, Number, Store
from strop.loops.lower import LOWERINGS, Context, load_families

NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
DTYPES = {np.dtype(kind): name for name, kind in NUMPY.items()}
_BITS = {"i32": 32, "i64": 64}


def run(nests: Sequence[Nest], buffers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Execute nests in order. `buffers` holds the arrays by name; what nests write is created where it is missing and
    replaced where it exists. The same dict is returned."""
    memory = {name: np.asarray(array).ravel().tolist() for name, array in buffers.items()}
    written: dict[str, Buffer] = {}
    for nest in nests:
        for buffer in (*nest.reads, *nest.writes):
            if buffer.name not in memory:
                memory[buffer.name] = [None] * buffer.size
            if len(memory[buffer.name]) != buffer.size:
                raise ValueError(f"{buffer} was given {len(memory[buffer.name])} elements")
        written.update((b.name, b) for b in nest.writes)
        _compile(nest)(memory)
    for name, buffer in written.items():
        values = memory[name]
        if any(v is None for v in values):
            raise ValueError(f"{buffer}: {sum(v is None for v in values)} elements were never written")
        buffers[name] = np.array(values, dtype=NUMPY[buffer.dtype]).reshape(buffer.shape)
    return buffers


def compute(
    op: str, inputs: Sequence[Any], types: Sequence[tuple[str, Sequence[int]]], **attrs: Any
) -> list[np.ndarray]:
    """Lower one operator on arrays (or CPU tensors) and execute it; `types` are (dtype, shape) of its results."""
    if op not in LOWERINGS:
        load_families()
    return execute(LOWERINGS[op], op, inputs, types, attrs)


def execute(
    lower: Callable[[Context], Sequence[Nest]],
    op: str,
    inputs: Sequence[Any],
    types: Sequence[tuple[str, Sequence[int]]],
    attrs: Mapping[str, Any],
) -> list[np.ndarray]:
    arrays = [np.asarray(x) for x in inputs]
    context = context_of(op, arrays, types, attrs)
    nests = lower(context)
    for nest in nests:
        check_names(nest)
    tables = {buffer.name: np.asarray(values, NUMPY[buffer.dtype]) for buffer, values in context.constants.items()}
    done = run(nests, {**{f"in{i}": a for i, a in enumerate(arrays)}, **tables})
    return [done[b.name] for b in context.outs]


def context_of(
    op: str, arrays: Sequence[np.ndarray], types: Sequence[tuple[str, Sequence[int]]], attrs: Mapping[str, Any]
) -> Context:
    """The context in which every input is a plain buffer."""
    nodes = tuple(
        Node("input", (), {"index": i}, (Type(DTYPES[a.dtype], a.shape),), f"in{i}") for i, a in enumerate(arrays)
    )
    node = Node(op, nodes, attrs, tuple(Type(d, tuple(s)) for d, s in types), op)
    sources = [Buffer(n.name, n.dtype, n.shape, "input") for n in nodes]
    reads = [lambda *index, b=b: _load(b, index) for b in sources]
    return Context(node, reads, [Buffer(f"out{i}", t.dtype, t.shape, "output") for i, t in enumerate(node.types)])


def check_names(nest: Nest) -> None:
    """Loop names are unique within a top nest, and top loops never reduce."""
    names = [loop.name for loop in nest.all_loops]
    assert len(names) == len(set(names)), f"loops named twice in {nest.name}: {names}"
    assert all(loop.kind != "reduce" for loop in nest.loops), f"{nest.name} reduces at the top"
    local = {loop.var for loop in nest.all_loops}
    for store in nest.stores:
        free = {v for i in store.index for v in i.vars} | set(store.value.vars)
        assert free <= local, f"{nest.name}: {store} uses {free - local} outside any loop"


def _load(buffer: Buffer, index: tuple[Index, ...]) -> Load:
    assert len(index) == len(buffer.shape), f"{buffer} read with {len(index)} indices"
    return Load(buffer, index)


# ---- nests as Python source ------------------------------------------------------------------------------------------


def _compile(nest: Nest) -> Callable[[dict[str, list[Any]]], None]:
    names: dict[Buffer, str] = {}
    for number, buffer in enumerate((*nest.reads, *nest.writes, *nest.all_scratch)):
        names.setdefault(buffer, f"m{number}")
    lines = ["def body(memory):"]
    lines += [f" {names[b]} = memory[{b.name!r}]" for b in dict.fromkeys((*nest.reads, *nest.writes))]
    _nest_lines(nest, 1, names, lines)
    lines.append(" return")
    scope: dict[str, Any] = {
        "at": _at,
        "indirect": _indirect,
        "wrap": _wrap,
        "F": FUNCTIONS,
        "inf": math.inf,
        "nan": math.nan,
    }
    exec("\n".join(lines), scope)
    return scope["body"]  # type: ignore[no-any-return]


def _nest_lines(nest: Nest, depth: int, names: Mapping[Buffer, str], lines: list[str]) -> None:
    for loop in nest.loops:
        span = f"range({loop.extent})" if loop.kind != "parallel" else f"range({loop.extent - 1}, -1, -1)"
        lines.append(" " * depth + f"for {_name(loop.var)} in {span}:")
        depth += 1
    for buffer in nest.scratch:
        lines.append(" " * depth + f"{names[buffer]} = [None] * {buffer.size}")
    for item in nest.body:
        if isinstance(item, Nest):
            _nest_lines(item, depth, names, lines)
        else:
            lines.append(" " * depth + _store_text(item, names))
    if any(loop.until for loop in nest.loops):
        last = nest.stores[-1]
        lines.append(" " * depth + f"if {names[last.target]}[{_offset(last.target, last.index, names)}]: break")


def _store_text(store: Store, names: Mapping[Buffer, str]) -> str:
    target = f"{names[store.target]}[{_offset(store.target, store.index, names)}]"
    value = _text(store.value, names)
    if store.value.dtype != store.target.dtype:
        raise TypeError(f"{store}: a {store.value.dtype} value stored into {store.target}")
    if store.reduce is not None:
        value = f"F[{REDUCTIONS[store.reduce]!r}]({target}, {value})"
    bits = _BITS.get(store.target.dtype)
    text = f"{target} = wrap({value}, {bits})" if bits else f"{target} = {value}"
    if store.guards:
        tests = " and ".join(f"0 <= {_index(g.index, names)} < {g.extent}" for g in store.guards)
        text = f"if {tests}: {text}"
    return text


def _text(expr: Expr, names: Mapping[Buffer, str]) -> str:
    if isinstance(expr, Const):
        return f"({expr.value!r})"
    if isinstance(expr, Number):
        return (
            f"float({_index(expr.index, names)})" if expr.dtype in ("f32", "f64") else f"({_index(expr.index, names)})"
        )
    if isinstance(expr, Load):
        text = f"{names[expr.buffer]}[{_offset(expr.buffer, expr.index, names)}]"
        if not expr.guards:
            return text
        tests = " and ".join(f"0 <= {_index(g.index, names)} < {g.extent}" for g in expr.guards)
        return f"({text} if {tests} else {expr.other!r})"
    return _apply_text(expr, names)


def _apply_text(expr: Apply, names: Mapping[Buffer, str]) -> str:
    args = [_text(a, names) for a in expr.args]
    if expr.op == "where":
        if expr.args[0].dtype != "bool" or len({a.dtype for a in expr.args[1:]} | {expr.dtype}) != 1:
            raise TypeError(f"dtypes of {expr}: {[a.dtype for a in expr.args]} -> {expr.dtype}")
        return f"({args[1]} if {args[0]} else {args[2]})"
    if expr.op == "cast":
        return f"F['cast {expr.dtype}']({args[0]})"
    if len({a.dtype for a in expr.args}) != 1:
        raise TypeError(f"dtypes of {expr}: {[a.dtype for a in expr.args]}")
    symbol = {"add": "+", "sub": "-"}.get(expr.op)
    if symbol and expr.dtype != "bool":
        return f"({args[0]} {symbol} {args[1]})"
    return f"F[{expr.op!r}]({', '.join(args)})"


def _offset(buffer: Buffer, index: tuple[Index, ...], names: Mapping[Buffer, str]) -> str:
    if not index:
        return "0"
    return f"at({buffer.shape!r}, ({', '.join(_index(i, names) for i in index)},))"


def _index(index: Index, names: Mapping[Buffer, str]) -> str:
    parts = [str(index.const)] if index.const or not index.terms else []
    for atom, factor in index.terms:
        if isinstance(atom, Var):
            text = _name(atom)
        elif isinstance(atom, Indirect):
            text = f"indirect({_text(atom.value, names)}, {atom.extent})"
        else:
            text = f"(({_index(atom.of, names)}) {'//' if isinstance(atom, Quotient) else '%'} {atom.by})"
        parts.append(f"{factor}*{text}" if factor != 1 else text)
    return f"({' + '.join(parts)})"


def _name(var: Var) -> str:
    return "v_" + "".join(c if c.isalnum() else "_" for c in var.name)


def _at(shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    offset = 0
    for extent, i in zip(shape, index, strict=True):
        if not 0 <= i < extent:
            raise AssertionError(f"index {index} outside of {shape}")
        offset = offset * extent + i
    return offset


def _indirect(value: int, extent: int) -> int:
    if not 0 <= value < extent:
        raise IndexError(f"index {value} is out of bounds for extent {extent}")
    return value


def _wrap(value: int, bits: int) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} stored into an integer buffer")
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


# ---- functions -------------------------------------------------------------------------------------------------------


def _floating(function: Callable[..., Any]) -> Callable[..., float]:
    def call(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*(np.float64(a) for a in args)))

    return call


def _maximum(a: Any, b: Any) -> Any:
    return a if a != a or a >= b else b


def _minimum(a: Any, b: Any) -> Any:
    return a if a != a or a <= b else b


def _exp(x: float) -> float:
    return math.inf if x > 709.7 else math.exp(x)


def _exp_nonpositive(x: float) -> float:
    if x > 0:
        raise AssertionError(f"exp_nonpositive({x!r})")
    return math.exp(x)


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x * math.sqrt(0.5)))


def _gelu_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _to_int(value: Any) -> int:
    return int(value) if math.isfinite(value) else -(1 << 63)


def _integer_or(whole: Callable[[int, int], int], real: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    floating = _floating(real)
    return lambda a, b: whole(a, b) if isinstance(a, int) else floating(a, b)


def _rank(x: float) -> int:
    """For numbers that f32 holds."""
    (bits,) = struct.unpack("<i", struct.pack("<f", x + 0.0))
    return -1 if x != x else ~bits if bits < 0 else bits - 2**31


def _exponent(x: float) -> int:
    """For numbers that f32 holds."""
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    return bits & 0x7F800000


def _power_of_two(bits: int) -> float:
    (x,) = struct.unpack("<f", struct.pack("<i", min(max(bits, 1 << 23), 253 << 23)))
    return float(x)


def _truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x, "abs": abs, "sign": lambda x: x if x != x else type(x)((x > 0) - (x < 0)),
    "exp": _exp, "exp_nonpositive": _exp_nonpositive, "gelu": _gelu, "gelu_tanh": _gelu_tanh,
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(min(x, 20.0)))), "silu": lambda x: x / (1 + _exp(-x)),
    "softplus": lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
    "sigmoid": lambda x: 1 / (1 + _exp(-x)), "tanh": math.tanh, "erf": math.erf, "erfc": math.erfc,
    "not": lambda x: not x if isinstance(x, bool) else ~x,
    "watch": lambda x: x, "exponent": _exponent, "power_of_two": _power_of_two,
    "join": lambda a, b, c: ((((a & 255) ^ 128) - 128) << 24) | (b & 255) << 16 | (c & 255) << 8,
    "rank": _rank, "ult": lambda a, b: a % 2**64 < b % 2**64, "isnan": lambda x: x != x, "isinf": lambda x: isinstance(x, float) and math.isinf(x),
    "add": lambda a, b: (a or b) if isinstance(a, bool) else a + b,
    "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": _floating(np.divide), "maximum": _maximum, "minimum": _minimum,
    "floordiv": _integer_or(lambda a, b: a // b, np.floor_divide), "mod": _integer_or(lambda a, b: a % b, np.mod),
    "truncdiv": _integer_or(_truncdiv, lambda a, b: np.trunc(a / b)),
    "fmod": _integer_or(lambda a, b: int(math.fmod(a, b)), np.fmod),
    "pow": _integer_or(lambda a, b: a**b, np.power),
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b, "shr": lambda a, b: a >> b, "copysign": math.copysign, "atan2": math.atan2,
    "dot4": lambda a, b: sum((a >> s & 255) * ((b >> s & 255) ^ 128) - 128 * (a >> s & 255) for s in (0, 8, 16, 24)),
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "cast f32": lambda x: float(np.float32(x)), "cast f64": float, "cast bool": lambda x: x != 0,
    "cast i64": lambda x: _wrap(_to_int(x), 64), "cast i32": lambda x: _wrap(_to_int(x), 32),
    "floor": _floating(np.floor), "ceil": _floating(np.ceil), "round": _floating(np.round),
    "trunc": _floating(np.trunc), "rsqrt": _floating(lambda x: 1 / np.sqrt(x)), "asin": _floating(np.arcsin),
    "acos": _floating(np.arccos), "atan": _floating(np.arctan), "asinh": _floating(np.arcsinh),
    "acosh": _floating(np.arccosh), "atanh": _floating(np.arctanh),
    **{n: _floating(getattr(np, n)) for n in ("exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "reciprocal",
                                              "sin", "cos", "tan", "sinh", "cosh")},
}  # fmt: skip
