"""The executable meaning of the operator set: every operator as a few lines of torch, evaluated node by node.

Slow and plain on purpose. Tests compare captured graphs, rewritten graphs and generated code with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from strop.core.dtypes import is_float
from strop.frontend.torch import library_nodes
from strop.frontend.torch.aten import byte_products
from strop.frontend.torch.aten import trees as aten_trees
from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Graph, Node
from strop.graph.operators import ACTIVATIONS, BINARY, COMPARE, UNARY

Tensor = torch.Tensor
Meaning = Callable[..., Any]
MEANINGS: dict[str, Meaning] = {}


def evaluate(
    graph: Graph, inputs: Sequence[Tensor], params: Mapping[str, Tensor] | Sequence[Tensor] = ()
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs, and the values that `graph.mutations` would write, in order. Nothing is written."""
    values: dict[Node, Any] = dict(zip(graph.inputs, inputs))
    if isinstance(params, Mapping):
        values.update((node, params[node.attrs["key"]]) for node in graph.params)
    else:
        values.update(zip(graph.params, params))
    with torch.no_grad():
        for node in graph.nodes:
            if node not in values:
                values[node] = run(node, [values[i] for i in node.inputs])
    return [values[n] for n in graph.outputs], [values[value] for _, value in graph.mutations]


def run(node: Node, inputs: Sequence[Any]) -> Any:
    """One node: a tensor, or a tuple of tensors where it has several results. Checks the types that it promises."""
    return runner(node)(inputs)


def runner(node: Node, views: bool = False) -> Callable[[Sequence[Any]], Any]:
    """`run` for one node, with everything looked up beforehand; `views` as in `library.caller`."""
    if node.op != "aten":
        meaning = MEANINGS[node.op]
        return lambda inputs: _checked(node, meaning(node, *inputs, **node.attrs))
    call = library_nodes.caller(node, views)
    if len(node.types) != 1:
        return call  # torch may mistype results that nobody uses; each `item` checks its own
    return lambda inputs: _checked(node, call(inputs)[0])


def _checked(node: Node, result: Any) -> Any:
    for value, type in zip(result if isinstance(result, tuple) else (result,), node.types):
        if tuple(value.shape) != type.shape or value.dtype != DTYPES[type.dtype]:
            raise TypeError(f"{node}: computed {value.dtype}{list(value.shape)}")
    return result


def means(*ops: str) -> Callable[[Meaning], Meaning]:
    def register(function: Meaning) -> Meaning:
        MEANINGS.update((op, function) for op in ops)
        return function

    return register


# pointwise

_TORCH_NAMES = {
    "not": torch.bitwise_not, "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.true_divide,
    "mod": torch.remainder, "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "floordiv": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "truncdiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}  # fmt: skip
for _name in (*UNARY, *BINARY, *COMPARE):
    _function = _TORCH_NAMES.get(_name) or getattr(torch, _name)
    MEANINGS[_name] = lambda node, *inputs, _function=_function: _function(*inputs)

_ACTIVATIONS: dict[str, Meaning] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softplus": F.softplus,
    "mish": F.mish,
    "elu": lambda x, alpha, scale, input_scale: torch.ops.aten.elu.default(x, alpha, scale, input_scale),
    "leaky_relu": lambda x, slope: F.leaky_relu(x, slope),
}
assert _ACTIVATIONS.keys() == ACTIVATIONS.keys()
for _name, _function in _ACTIVATIONS.items():
    MEANINGS[_name] = lambda node, x, _function=_function, **attrs: _function(x, **attrs)


@means("where")
def where(node: Node, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.where(condition, x, y)


@means("cast")
def cast(node: Node, x: Tensor) -> Tensor:
    return x.to(DTYPES[node.dtype])


# leaves


@means("constant")
def constant(node: Node, values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, dtype=DTYPES[node.dtype]).reshape(node.shape)


@means("full")
def full(node: Node, value: Any) -> Tensor:
    return torch.full(node.shape, value, dtype=DTYPES[node.dtype])


@means("arange")
def arange(node: Node, start: float, step: float) -> Tensor:
    places = torch.arange(node.shape[0], dtype=torch.float64 if is_float(node.dtype) else torch.int64)
    return (start + step * places).to(DTYPES[node.dtype])


# views


@means("reshape")
def reshape(node: Node, x: Tensor) -> Tensor:
    return x.reshape(node.shape)


@means("permute")
def permute(node: Node, x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.permute(list(dims))


@means("expand")
def expand(node: Node, x: Tensor) -> Tensor:
    return x.expand(node.shape)


@means("slice")
def slice_(node: Node, x: Tensor, dim: int, start: int, step: int) -> Tensor:
    extent = node.shape[dim]
    picked = [slice(None)] * x.dim()
    picked[dim] = slice(start, start + (extent - 1) * step + 1 if extent else start, step)
    return x[tuple(picked)]


@means("select")
def select(node: Node, x: Tensor, dim: int, index: int) -> Tensor:
    return x.select(dim, index)


@means("flip")
def flip(node: Node, x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.flip(list(dims))


@means("diagonal")
def diagonal(node: Node, x: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return x.diagonal(offset, dim1, dim2)


@means("unfold")
def unfold(node: Node, x: Tensor, dim: int, size: int, step: int) -> Tensor:
    return x.unfold(dim, size, step)


# putting together


@means("cat")
def cat(node: Node, *parts: Tensor, dim: int) -> Tensor:
    return torch.cat(parts, dim)


@means("pad")
def pad(node: Node, x: Tensor, pads: Sequence[tuple[int, int]], mode: str, value: float) -> Tensor:
    """By reading at places: which source element each padded position shows, dimension by dimension."""
    for dim, (before, after) in enumerate(pads):
        extent = x.shape[dim]
        place = torch.arange(-before, extent + after)
        if mode == "constant":
            inside = (place >= 0) & (place < extent)
            source = place.clamp(0, max(extent - 1, 0))
            shape = [-1 if d == dim else 1 for d in range(x.dim())]
            if extent == 0:
                x = torch.full((*x.shape[:dim], len(place), *x.shape[dim + 1 :]), value, dtype=x.dtype)
                continue
            x = torch.where(inside.reshape(shape), x.index_select(dim, source), torch.tensor(value, dtype=x.dtype))
            continue
        if mode == "reflect":
            place = place.abs()
            place = torch.where(place >= extent, 2 * (extent - 1) - place, place)
        elif mode == "replicate":
            place = place.clamp(0, extent - 1)
        elif mode == "circular":
            place = place % extent
        x = x.index_select(dim, place)
    return x


# indexing


def _indices(x: Tensor, dims: Sequence[int], indices: Sequence[Tensor]) -> list[Tensor | None]:
    places: list[Tensor | None] = [None] * x.dim()
    for dim, index in zip(dims, indices):
        places[dim] = index
    return places


@means("index")
def index(node: Node, x: Tensor, *indices: Tensor, dims: Sequence[int]) -> Tensor:
    return torch.ops.aten.index.Tensor(x, _indices(x, dims, indices))  # type: ignore[no-any-return]


@means("gather")
def gather(node: Node, x: Tensor, places: Tensor, dim: int) -> Tensor:
    extent = x.shape[dim]
    if places.numel() and not bool(((places >= -extent) & (places < extent)).all()):
        raise IndexError(f"index out of range in gather of extent {extent}")
    return x.gather(dim, torch.where(places < 0, places + extent, places))


@means("embedding")
def embedding(node: Node, weight: Tensor, places: Tensor) -> Tensor:
    return weight[places]


@means("index_put")
def index_put(node: Node, x: Tensor, value: Tensor, *indices: Tensor, dims: Sequence[int], accumulate: bool) -> Tensor:
    return torch.ops.aten.index_put.default(x, _indices(x, dims, indices), value, accumulate)  # type: ignore[no-any-return]


@means("scatter")
def scatter(node: Node, x: Tensor, places: Tensor, src: Tensor, dim: int, reduce: str | None) -> Tensor:
    if reduce is None:
        return x.scatter(dim, places, src)
    named = {"add": "sum", "mul": "prod"}.get(reduce, reduce)
    return x.scatter_reduce(dim, places, src, named, include_self=True)


# reductions


def _folded(x: Tensor, dims: Sequence[int], keepdim: bool) -> tuple[Tensor, list[int]]:
    """The reduced dimensions made one, at the end: what operators of a single dimension need."""
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else x.shape[d] for d in range(x.dim())] if keepdim else [x.shape[d] for d in kept]
    extent = 1
    for d in dims:
        extent *= x.shape[d]
    return x.permute([*kept, *dims]).reshape(*(x.shape[d] for d in kept), extent), shape


@means("sum", "mean")
def total(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    if not dims:
        return x
    function = torch.sum if node.op == "sum" else torch.mean
    return function(x, list(dims), keepdim, dtype=DTYPES[node.dtype])


@means("prod", "any", "all")
def folded(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    rows, shape = _folded(x, dims, keepdim)
    if node.op == "prod":
        return torch.prod(rows, -1, dtype=DTYPES[node.dtype]).reshape(shape)
    return (rows.any(-1) if node.op == "any" else rows.all(-1)).reshape(shape)


@means("amax", "amin")
def extreme(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    return torch.amax(x, list(dims), keepdim) if node.op == "amax" else torch.amin(x, list(dims), keepdim)


@means("argmax", "argmin")
def place(node: Node, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    function = torch.argmax if node.op == "argmax" else torch.argmin
    return function(x, dim, keepdim).reshape(node.shape)


@means("var")
def var(node: Node, x: Tensor, dims: Sequence[int], correction: float, keepdim: bool) -> Tensor:
    if not x.dim():
        return torch.var(x, correction=correction)
    return torch.var(x, list(dims), correction=correction, keepdim=keepdim)


@means("cumsum", "cumprod")
def scan(node: Node, x: Tensor, dim: int) -> Tensor:
    function = torch.cumsum if node.op == "cumsum" else torch.cumprod
    return function(x, dim, dtype=x.dtype)


# rows


@means("softmax", "log_softmax")
def softmax(node: Node, x: Tensor, dim: int) -> Tensor:
    return F.softmax(x, dim) if node.op == "softmax" else F.log_softmax(x, dim)


def _scale_and_shift(has_weight: bool, has_bias: bool, rest: Sequence[Tensor]) -> tuple[Tensor | None, Tensor | None]:
    given = iter(rest)
    return (next(given) if has_weight else None), (next(given) if has_bias else None)


@means("layer_norm")
def layer_norm(node: Node, x: Tensor, *rest: Tensor, axes: int, eps: float, has_weight: bool, has_bias: bool) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return F.layer_norm(x, x.shape[x.dim() - axes :], weight, bias, eps)


@means("rms_norm")
def rms_norm(node: Node, x: Tensor, *rest: Tensor, axes: int, eps: float, has_weight: bool, offset: float) -> Tensor:
    dims = list(range(x.dim() - axes, x.dim()))
    normal = x * torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)
    return normal * (rest[0] + offset) if has_weight else normal


@means("group_norm")
def group_norm(
    node: Node, x: Tensor, *rest: Tensor, groups: int, eps: float, has_weight: bool, has_bias: bool
) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return torch.group_norm(x, groups, weight, bias, eps)


@means("batch_norm")
def batch_norm(
    node: Node, x: Tensor, mean: Tensor, variance: Tensor, *rest: Tensor, eps: float, has_weight: bool, has_bias: bool
) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps)


# contractions


@means("linear")
def linear(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight, bias)


@means("byte_linear")
def byte_linear(node: Node, x: Tensor, weight: Tensor) -> Tensor:
    product: Tensor = byte_products.byte_linear(x, weight)
    return product


@means("byte_lstm")
def byte_lstm(node: Node, *inputs: Tensor, backwards: bool) -> tuple[Tensor, ...]:
    return tuple(byte_products.byte_lstm(*inputs, backwards))


@means("walk_trees")
def walk_trees(node: Node, x: Tensor, nodes: Tensor, *, trees: int, steps: int, bits: int, between: bool) -> Tensor:
    return aten_trees.walked(x, nodes, trees, steps, bits, between)


@means("byte_conv")
def byte_conv(
    node: Node, x: Tensor, weight: Tensor, *, stride: Sequence[int], padding: Sequence[tuple[int, int]],
    dilation: Sequence[int], groups: int, transposed: bool,
) -> Tensor:  # fmt: skip
    pads = [amount for side in zip(*padding) for amount in side]
    product: Tensor = byte_products.byte_conv(x, weight, list(stride), pads, list(dilation))
    return product


@means("matmul")
def matmul(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return torch.matmul(x, y)


@means("conv")
def conv(
    node: Node,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
    transposed: bool,
    output_padding: Sequence[int],
) -> Tensor:
    if transposed:
        even = [before for before, _ in padding]
        return torch.convolution(x, weight, bias, stride, even, dilation, True, output_padding, groups)
    flat = [amount for pair in reversed(padding) for amount in pair]
    return torch.convolution(F.pad(x, flat), weight, bias, stride, [0] * len(stride), dilation, False, [0], groups)


@means("conv_weight_grad")
def conv_weight_grad(
    node: Node,
    x: Tensor,
    dy: Tensor,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    x = F.pad(x, [amount for pair in reversed(padding) for amount in pair])
    reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(dy.shape[2:], stride, dilation, kernel)]
    x = F.pad(x, [amount for have, need in zip(x.shape[:1:-1], reversed(reach)) for amount in (0, need - have)])
    weight = x.new_empty(node.shape)
    none = [0] * len(stride)
    made: Tensor = torch.ops.aten.convolution_backward(
        dy, x, weight, None, stride, none, dilation, False, none, groups, [False, True, False]
    )[1]
    return made


@means("attention")
def attention(
    node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float, causal: bool, gqa: bool
) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, enable_gqa=gqa)


@means("lstm")
def lstm(
    node: Node, x: Tensor, h: Tensor, c: Tensor, *weights: Tensor, layers: int, bidirectional: bool, batch_first: bool,
    has_bias: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    return tuple(torch.lstm(x, (h, c), weights, has_bias, layers, 0.0, False, bidirectional, batch_first))


@means("gru", "rnn")
def recurrent(
    node: Node, x: Tensor, h: Tensor, *weights: Tensor, layers: int, bidirectional: bool, batch_first: bool,
    has_bias: bool, nonlinearity: str = "",
) -> tuple[Tensor, ...]:  # fmt: skip
    functions: dict[str, Meaning] = {"": torch.gru, "tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
    return tuple(functions[nonlinearity](x, h, weights, has_bias, layers, 0.0, False, bidirectional, batch_first))


# windows


def _ceil_mode(node: Node, x: Tensor) -> bool:
    """Whether the node's extents are those of windows that may hang over the end."""
    kernel, stride, padding = (node.attrs[name] for name in ("kernel", "stride", "padding"))
    dilation = node.attrs.get("dilation") or (1,) * len(kernel)
    floors = [
        (extent + before + after - d * (k - 1) - 1) // s + 1
        for extent, k, s, (before, after), d in zip(x.shape[2:], kernel, stride, padding, dilation)
    ]
    return tuple(floors) != node.shape[2:]


@means("max_pool")
def max_pool(
    node: Node, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Tensor:  # fmt: skip
    functions: dict[int, Meaning] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    even = [before for before, _ in padding]
    result = functions[len(kernel)](x, list(kernel), list(stride), even, list(dilation), _ceil_mode(node, x))
    return _tensor(result)


@means("avg_pool")
def avg_pool(
    node: Node, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[tuple[int, int]],
    count_include_pad: bool, divisor: int | None,
) -> Tensor:  # fmt: skip
    even = [before for before, _ in padding]
    ceil = _ceil_mode(node, x)
    if len(kernel) == 1:
        return F.avg_pool1d(x, list(kernel), list(stride), even, ceil, count_include_pad)
    function: Meaning = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    return _tensor(function(x, list(kernel), list(stride), even, ceil, count_include_pad, divisor))


@means("adaptive_avg_pool", "adaptive_max_pool")
def adaptive_pool(node: Node, x: Tensor) -> Tensor:
    kind = "avg" if node.op == "adaptive_avg_pool" else "max"
    function = getattr(F, f"adaptive_{kind}_pool{x.dim() - 2}d")
    return _tensor(function(x, node.shape[2:]))


@means("upsample_nearest")
def upsample_nearest(node: Node, x: Tensor, scales: Sequence[float], exact: bool) -> Tensor:
    prefix = "_upsample_nearest_exact" if exact else "upsample_nearest"
    operator = getattr(torch.ops.aten, f"{prefix}{len(scales)}d").default
    return _tensor(operator(x, list(node.shape[2:]), *(1 / s for s in scales)))


@means("upsample_linear")
def upsample_linear(node: Node, x: Tensor, align_corners: bool, scales: Sequence[float]) -> Tensor:
    name = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}[len(scales)]
    factors = [None] * len(scales) if align_corners else [1 / s for s in scales]
    return _tensor(getattr(torch.ops.aten, name).default(x, list(node.shape[2:]), align_corners, *factors))


@means("grid_sample")
def grid_sample(node: Node, x: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    return F.grid_sample(x, grid, mode, padding, align_corners)


@means("item")
def item(node: Node, results: Sequence[Tensor], index: int) -> Tensor:
    return results[index]


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"expected a tensor, got {type(value).__name__}")
    return value
