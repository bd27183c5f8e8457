"""Random graphs of our operators: a seed and a number of steps give a graph, fewer steps its beginning.

Each move adds an operator to what `codegen/graph_maker.py` holds; which moves come is a matter of chance.
"""

from __future__ import annotations

import math
import random
from typing import Any

import torch

from codegen.graph_maker import EXTENTS, FLOATS, LARGEST, MOVES, NUMBERS, Maker, broadcasts, move
from strop.frontend.torch.dtypes import DTYPES
from strop.graph import build
from strop.graph.ir import Graph, Node, Type

# pointwise


@move(3)
def arithmetic(m: Maker) -> None:
    x = m.any(NUMBERS)
    if x is None:
        return
    y = m.partner(x)
    op = m.pick(("add", "sub", "mul", "maximum", "minimum"))
    a, b = m.facts[x].bound, m.facts[y].bound
    bound = a * b if op == "mul" else a + b
    if bound < 1e6:
        m.note(build.binary(op, *((x, y) if m.below(2) else (y, x))), bound, m.exact(x, y))


@move()
def whole_division(m: Maker) -> None:
    x = m.any(("i64", "i32"))
    if x is not None:
        op = m.pick(("floordiv", "truncdiv", "mod", "fmod"))
        m.note(build.binary(op, x, m.pick((-3, 2, 5))), m.bound(x) + 5, True)


@move()
def number(m: Maker) -> None:
    x = m.any(NUMBERS)
    if x is not None:
        op = m.pick(("neg", "abs", "sign") if m.exact(x) else ("neg", "abs"))
        m.note(build.unary(op, x), m.bound(x), m.exact(x))


@move(2)
def function(m: Maker) -> None:
    x = m.any(FLOATS)
    if x is None:
        return
    op = m.pick(
        ("exp", "tanh", "sigmoid", "erf", "sin", "cos", "log", "sqrt", "reciprocal", "relu", "gelu", "silu", "elu")
    )
    if op == "exp" and m.bound(x) > 6:
        x = m.note(build.unary("tanh", x), 1.0, False)
    if op in ("log", "sqrt", "reciprocal"):
        x = m.note(build.add(build.unary("abs", x), 1.0), m.bound(x) + 1, m.exact(x))
    attrs = {"gelu": {"approximate": "none"}, "elu": {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}}.get(op, {})
    bound = math.exp(m.bound(x)) if op == "exp" else max(1.0, m.bound(x))
    m.note(build.unary(op, x, **attrs), bound, op == "relu" and m.exact(x))


@move()
def compare(m: Maker) -> None:
    x = m.any(NUMBERS, exact=True)
    if x is None:
        return
    y = m.partner(x)
    if m.exact(y):
        m.note(build.binary(m.pick(("eq", "ne", "lt", "le", "gt", "ge")), x, y), 1.0, True)


@move()
def logic(m: Maker) -> None:
    x = m.any(("bool", "i64", "i32"))
    if x is not None:
        m.note(build.binary(m.pick(("and", "or", "xor")), x, m.partner(x)), m.bound(x) * 2 + 8, True)


@move()
def choose(m: Maker) -> None:
    x = m.any(NUMBERS)
    if x is None:
        return
    y = m.partner(x)
    shape = torch.broadcast_shapes(x.shape, y.shape)
    fitting = [n for n in m.pool if n.dtype == "bool" and broadcasts(n.shape, shape)]
    condition = m.pick(fitting) if fitting else m.leaf("bool", shape)
    m.note(build.where(condition, x, y), m.bound(x, y), m.exact(x, y))


@move(2)
def cast(m: Maker) -> None:
    x = m.any((*NUMBERS, "bool"))
    if x is None:
        return
    dtype = m.pick((*NUMBERS, "bool"))
    if dtype in FLOATS or m.exact(x):
        m.note(build.cast(x, dtype), m.bound(x), m.exact(x))


# views


@move(3)
def view(m: Maker) -> None:
    x = m.any((*NUMBERS, "bool"), rank=1)
    if x is None:
        return
    rank, dim = x.type.rank, m.below(x.type.rank)
    extent = x.shape[dim]
    kind = m.pick(("reshape", "permute", "expand", "slice", "select", "flip", "diagonal", "unfold"))
    if kind == "reshape":
        made = build.reshape(x, _reshaped(m, x.shape))
    elif kind == "permute":
        made = build.permute(x, tuple(m.random.sample(range(rank), rank)))
    elif kind == "expand":
        made = build.expand(x, (m.pick((1, 2, 3)), *(m.pick((1, 5)) if e == 1 else e for e in x.shape)))
    elif kind == "slice":
        start = m.below(extent + 1)
        made = build.slice(x, dim, start, start + m.below(extent - start + 1), m.pick((1, 1, 2, 3)))
    elif kind == "flip":
        made = build.make("flip", (x,), {"dims": (dim,)})
    elif kind == "select" and extent:
        made = build.make("select", (x,), {"dim": dim, "index": m.below(extent)})
    elif kind == "diagonal" and rank > 1:
        first, second = m.random.sample(range(rank), 2)
        made = build.make("diagonal", (x,), {"offset": m.pick((-1, 0, 1)), "dim1": first, "dim2": second})
    elif kind == "unfold" and extent:
        size = 1 + m.below(extent)
        made = build.make("unfold", (x,), {"dim": dim, "size": size, "step": m.pick((1, 2))})
    else:
        return
    m.note(made, m.bound(x), m.exact(x))


def _reshaped(m: Maker, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Flattened, then split at its divisors."""
    left, parts = math.prod(shape), []
    if not left:
        return tuple(reversed(shape))
    while left > 1 and len(parts) < 3:
        part = m.pick([d for d in range(1, left + 1) if left % d == 0])
        parts.append(part)
        left //= part
    return (*parts, left) if left > 1 or m.below(2) else tuple(parts)


# putting together and indexing


@move()
def join(m: Maker) -> None:
    x = m.any((*NUMBERS, "bool"), rank=1)
    if x is None:
        return
    dim = m.below(x.type.rank)
    other = tuple(m.pick(EXTENTS) if d == dim else e for d, e in enumerate(x.shape))
    same = [n for n in m.pool if n.dtype == x.dtype and n.shape == x.shape]
    parts = [x, m.leaf(x.dtype, other), m.pick(same)]
    m.note(build.cat(parts, dim), m.bound(*parts), m.exact(*parts))


@move()
def pad(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1, elements=True)
    if x is None:
        return
    mode = m.pick(("constant", "constant", "reflect", "replicate", "circular"))
    if mode == "constant":
        pads = tuple((m.pick((0, 0, 1, 2, -1 if e > 2 else 0)), m.below(4)) for e in x.shape)
    elif 3 <= x.type.rank <= 5 and x.dtype in FLOATS:
        most = [0, 0, *(e - (mode == "reflect") for e in x.shape[2:])]
        pads = tuple((m.below(min(most_, 3) + 1), m.below(min(most_, 3) + 1)) for most_ in most)
    else:
        return
    attrs = {"pads": pads, "mode": mode, "value": m.pick((0, 2))}
    m.note(build.make("pad", (x,), attrs), max(m.bound(x), 2), m.exact(x))


@move(2)
def pick_by_data(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1, elements=True)
    if x is None:
        return
    kind = m.pick(("index", "gather", "embedding"))
    dim = m.below(x.type.rank)
    places = m.leaf("i64", (m.pick((0, 1, 3, 7)),))
    index = build.binary("mod", places, x.shape[dim])
    if kind == "index":
        made = build.make("index", (x, index), {"dims": (dim,)})
    elif kind == "embedding" and x.type.rank == 2:
        made = build.make("embedding", (x, build.binary("mod", places, x.shape[0])))
    else:
        shape = tuple(places.shape[0] if d == dim else e for d, e in enumerate(x.shape))
        column = build.reshape(index, tuple(places.shape[0] if d == dim else 1 for d in range(x.type.rank)))
        made = build.make("gather", (x, build.expand(column, shape)), {"dim": dim})
    m.note(made, m.bound(x), m.exact(x))


@move()
def write_by_data(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1, elements=True)
    if x is None:
        return
    dim, count = m.below(x.type.rank), m.pick((0, 1, 5))
    places = m.leaf("i64", (count,))
    index = build.binary("mod", places, x.shape[dim])
    shape = tuple(count if d == dim else e for d, e in enumerate(x.shape))
    source = m.leaf(x.dtype, shape)
    if m.below(2):
        attrs: dict[str, Any] = {"dims": (dim,), "accumulate": bool(m.below(2))}
        made = build.make("index_put", (x, source, index), attrs)
    else:
        column = build.reshape(index, tuple(count if d == dim else 1 for d in range(x.type.rank)))
        attrs = {"dim": dim, "reduce": m.pick((None, "add", "amax", "amin"))}
        made = build.make("scatter", (x, build.expand(column, shape), source), attrs)
    m.note(made, m.bound(x) + 3 * count, m.exact(x))


# reductions and rows


@move(2)
def reduction(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1)
    if x is None:
        return
    dims = sorted(m.random.sample(range(x.type.rank), 1 + m.below(x.type.rank)))
    op = m.pick(("sum", "mean", "amax", "amin", "var", "cumsum"))
    count = math.prod(x.shape[d] for d in dims)
    if (op in ("mean", "var") and x.dtype not in FLOATS) or (op in ("amax", "amin", "var") and count < 2):
        op = "sum"
    if op == "cumsum":
        m.note(build.make(op, (x,), {"dim": dims[0]}), m.bound(x) * (count + 1), m.exact(x))
        return
    more = {"correction": m.below(2)} if op == "var" else {}
    bound = m.bound(x) * max(count, 1) if op == "sum" else m.bound(x) ** (2 if op == "var" else 1)
    exact = op in ("sum", "amax", "amin") and m.exact(x)
    m.note(build.reduce(op, x, dims, keepdim=bool(m.below(2)), **more), bound, exact)


@move()
def any_all(m: Maker) -> None:
    x = m.any(("bool",), rank=1)
    if x is not None:
        m.note(build.reduce(m.pick(("any", "all")), x, (m.below(x.type.rank),)), 1.0, True)


@move()
def place_of_largest(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1, exact=True, elements=True)
    if x is not None:
        attrs = {"dim": m.below(x.type.rank), "keepdim": bool(m.below(2))}
        m.note(build.make(m.pick(("argmax", "argmin")), (x,), attrs), 40.0, True)


@move(2)
def rows(m: Maker) -> None:
    x = m.any(FLOATS, rank=1, elements=True)
    if x is None:
        return
    op = m.pick(("softmax", "log_softmax", "layer_norm", "rms_norm", "group_norm"))
    if op == "group_norm":
        if x.type.rank < 3:
            return
        groups = m.pick([g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0])
        attrs = {"groups": groups, "eps": 0.5, "has_weight": False, "has_bias": False}
        m.note(build.make("group_norm", (x,), attrs), 40.0, False)
    elif op == "rms_norm":
        m.note(build.rms_norm(x, m.leaf(x.dtype, x.shape[-1:]) if m.below(2) else None, eps=0.5), 40.0, False)
    elif op == "layer_norm":
        # a row of equal values has no variance: what rounding leaves of it would be blown up
        m.note(build.layer_norm(x, m.leaf(x.dtype, x.shape[-1:], param=True), axes=1, eps=0.5), 40.0, False)
    else:
        m.note(build.make(op, (x,), {"dim": m.below(x.type.rank)}), max(1.0, 2 * m.bound(x) + 4), False)


# contractions and windows


@move(2)
def matmul(m: Maker) -> None:
    x = m.any(NUMBERS, rank=1)
    if x is None:
        return
    if x.type.rank == 1 or m.below(3) == 0:
        if x.dtype in FLOATS:
            weight = m.leaf(x.dtype, (m.pick(EXTENTS), x.shape[-1]), param=bool(m.below(2)))
            made = build.linear(x, weight, m.leaf(x.dtype, weight.shape[:1], param=True) if m.below(2) else None)
        else:
            return
    else:
        batch = x.shape[:-2] if m.below(2) else ()
        weight = m.leaf(x.dtype, (*batch, x.shape[-1], m.pick(EXTENTS)), param=bool(m.below(2)))
        made = build.matmul(x, weight)
    if made.type.size <= 4 * LARGEST:
        m.note(made, 3 * m.bound(x) * (x.shape[-1] + 1), m.exact(x))


@move(2)
def conv(m: Maker) -> None:
    channels, space = m.pick((1, 2, 3, 4, 6, 16)), m.pick((1, 2))
    x = m.any(FLOATS, rank=space + 2)
    if x is None or x.type.rank != space + 2 or m.below(2):
        x = m.leaf(
            m.pick(("f32", "f32", "f64")), (m.pick((1, 2)), channels, *(m.pick((1, 3, 5, 8)) for _ in range(space)))
        )
    channels = x.shape[1]
    groups = m.pick([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    kernel = m.pick((1, 2, 3))
    padding, stride, dilation = m.pick((0, 1, 2)), m.pick((1, 1, 2)), m.pick((1, 1, 2))
    if any(extent + 2 * padding < dilation * (kernel - 1) + 1 for extent in x.shape[2:]) or not channels:
        return
    out = groups * m.pick((1, 2, 5, 16))
    weight = m.leaf(x.dtype, (out, channels // groups, *(kernel,) * space), param=bool(m.below(3)))
    bias = m.leaf(x.dtype, (out,), param=True) if m.below(2) else None
    made = build.conv(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    m.note(made, 3 * m.bound(x) * (weight.type.size // out + 1), m.exact(x))


@move()
def conv_transposed(m: Maker) -> None:
    groups = m.pick((1, 2))
    x = m.leaf("f32", (1, 2 * groups, m.pick((1, 4, 5)), m.pick((3, 7))))
    weight = m.leaf("f32", (2 * groups, m.pick((1, 3)), m.pick((1, 3)), m.pick((2, 3))), param=True)
    stride = m.pick((1, 2))
    made = build.conv(x, weight, stride=stride, padding=0, groups=groups, transposed=True, output_padding=stride - 1)
    m.note(made, 9 * weight.type.size, True)


@move()
def attention(m: Maker) -> None:
    batch = m.pick(((), (2,), (2, 3)))
    width, queries, keys = m.pick((1, 4, 8, 17)), m.pick((1, 5, 16)), m.pick((1, 6, 16, 33))
    q = m.leaf("f32", (*batch, queries, width))
    k, v = m.leaf("f32", (*batch, keys, width)), m.leaf("f32", (*batch, keys, m.pick((3, 16))))
    mask = m.leaf("f32", (queries, keys)) if m.below(3) == 0 else None
    causal = mask is None and queries <= keys and m.below(2) == 0
    m.note(build.attention(q, k, v, mask, scale=0.25, causal=causal), 3.0, False)


@move()
def resize(m: Maker) -> None:
    x = m.any(FLOATS, rank=3, elements=True)
    if x is None or x.type.rank > 5:
        return
    out = tuple(m.pick((1, 2, 4, 7)) for _ in x.shape[2:])
    kind = Type(x.dtype, (*x.shape[:2], *out))
    scales = tuple(old / new for old, new in zip(x.shape[2:], out))
    op = m.pick(("upsample_nearest", "upsample_linear", "adaptive_avg_pool", "adaptive_max_pool"))
    attrs: dict[str, Any] = {}
    if op == "upsample_nearest":
        attrs = {"scales": scales, "exact": False}
    elif op == "upsample_linear":
        attrs = {"align_corners": False, "scales": scales}
    exact = op in ("upsample_nearest", "adaptive_max_pool") and m.exact(x)
    m.note(build.make(op, (x,), attrs, types=(kind,)), m.bound(x), exact)


@move()
def pool(m: Maker) -> None:
    x = m.any(FLOATS, rank=3, elements=True)
    if x is None or x.type.rank > 4:
        return
    space = x.type.rank - 2
    kernel, stride = m.pick((1, 2, 3)), m.pick((1, 2))
    padding = m.below(kernel // 2 + 1)
    if any(extent + 2 * padding < kernel for extent in x.shape[2:]):
        return
    shape = (*x.shape[:2], *((extent + 2 * padding - kernel) // stride + 1 for extent in x.shape[2:]))
    attrs: dict[str, Any] = {
        "kernel": (kernel,) * space,
        "stride": (stride,) * space,
        "padding": ((padding, padding),) * space,
    }
    op = m.pick(("max_pool", "avg_pool"))
    attrs |= (
        {"dilation": (1,) * space} if op == "max_pool" else {"count_include_pad": bool(m.below(2)), "divisor": None}
    )
    m.note(build.make(op, (x,), attrs, types=(Type(x.dtype, shape),)), m.bound(x), op == "max_pool" and m.exact(x))


def random_graph(seed: int, steps: int) -> Graph:
    m = Maker(random.Random(seed))
    for _ in range(1 + m.below(2)):
        shape = tuple(m.pick(EXTENTS) for _ in range(m.pick((0, 1, 2, 2, 3, 3, 4))))
        while math.prod(shape) > LARGEST:
            shape = shape[1:]
        m.leaf(m.pick(("f32", "f32", "f32", "f64", "i64", "i32", "bool")), shape)
    for _ in range(steps):
        m.pick(MOVES)(m)
    made = [n for n in m.facts if n.op not in ("input", "param")] or m.inputs
    return Graph(
        tuple(m.inputs), tuple(m.params), tuple(dict.fromkeys((made[-1], *(m.pick(made) for _ in range(m.below(3))))))
    )


def values(node: Node, generator: torch.Generator) -> torch.Tensor:
    """Whole numbers from -3 to 3."""
    return torch.randint(-3, 4, node.shape, generator=generator).to(DTYPES[node.dtype])
