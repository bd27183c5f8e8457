"""What type an operator's results have: one small function per operator, for the constructors and the verifier.

    infer("matmul", (a, b), {}) == (Type("f32", (8, 5, 7)),)

Some operators carry in their type what their inputs don't tell (`reshape`, `cast`, `slice` …); for these the
types are given, and the function checks that they are possible. A contradiction raises `MismatchError`.

A type holds for all values of its symbols: extents that have to agree must be the same expression, and where an answer
depends on the value of a symbol, `UnknownExtent` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from strop.core.dtypes import SIZES, is_float
from strop.core.extents import Shape, UnknownExtent
from strop.graph.ir import Node, Type
from strop.graph.operators import ACTIVATIONS, BINARY, COMPARE, UNARY

Attrs = Mapping[str, Any]
Given = tuple[Type, ...] | None
Inference = Callable[[Sequence[Node], Attrs, Given], tuple[Type, ...]]

#: operator → what type its results have
INFERENCES: dict[str, Inference] = {}


class MismatchError(ValueError):
    """Inputs, attributes and types of a node contradict each other."""


def infer(op: str, inputs: Sequence[Node], attrs: Attrs, given: Given = None) -> tuple[Type, ...]:
    """The types of the results; `given` is what the node claims, needed where the inputs don't tell."""
    inference = INFERENCES.get(op)
    if inference is None:
        raise MismatchError(f"there is no operator `{op}`")
    try:
        return inference(inputs, attrs, given)
    except MismatchError as mismatch:
        raise MismatchError(f"`{op}`: {mismatch}") from None
    except UnknownExtent as undecided:
        raise undecided.within(f"`{op}`") from None
    except KeyError as missing:
        raise MismatchError(f"`{op}` needs the attribute {missing}") from None
    except (IndexError, ValueError) as wrong:
        raise MismatchError(f"`{op}`: inputs and attributes do not fit: {wrong}") from None


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all of these stretch to."""
    rank = max((len(s) for s in shapes), default=0)
    aligned = [(1,) * (rank - len(s)) + s for s in shapes]
    extents = []
    for column in zip(*aligned):
        wide = [e for e in column if e != 1]
        if wide and any(e != wide[0] for e in wide):
            raise MismatchError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        extents.append(wide[0] if wide else 1)
    return tuple(extents)


def reduced(shape: Shape, dims: Sequence[int] | None, keepdim: bool) -> Shape:
    """The shape after a reduction over `dims` (None or empty: all of them)."""
    gone = {d % max(len(shape), 1) for d in dims} if dims else set(range(len(shape)))
    if keepdim:
        return tuple(1 if i in gone else e for i, e in enumerate(shape))
    return tuple(e for i, e in enumerate(shape) if i not in gone)


def _infers(*ops: str) -> Callable[[Inference], Inference]:
    def register(inference: Inference) -> Inference:
        INFERENCES.update(dict.fromkeys(ops, inference))
        return inference

    return register


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise MismatchError(message)


def _given(given: Given) -> Type:
    if given is None or len(given) != 1:
        raise MismatchError("its type must be given")
    return given[0]


def _same_dtype(nodes: Sequence[Node]) -> str:
    dtypes = list(dict.fromkeys(n.dtype for n in nodes))
    _need(len(dtypes) == 1, f"inputs have the dtypes {', '.join(dtypes)}; they must agree")
    return dtypes[0]


def _dim(attrs: Attrs, rank: int, key: str = "dim") -> int:
    dim = int(attrs[key])
    _need(-max(rank, 1) <= dim < max(rank, 1), f"{key} {dim} is outside of rank {rank}")
    return dim % max(rank, 1)


@_infers("input", "param", "full", "aten")
def _leaf(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    if given is None:
        raise MismatchError("its types must be given")
    for type in given:
        _need(type.dtype in SIZES, f"unknown dtype {type.dtype}")
        _need(all(e >= 0 for e in type.shape), f"negative extent in {type}")
    return given


@_infers("constant")
def _constant(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    type = _given(given)
    _need(_count(attrs["values"]) == type.size, f"{_count(attrs['values'])} values for {type}")
    return (type,)


def _count(values: Any) -> int:
    return sum(map(_count, values)) if isinstance(values, tuple) else 1


@_infers("arange")
def _arange(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    type = _given(given)
    _need(type.rank == 1, f"has rank {type.rank}, must be 1-d")
    _need("start" in attrs and "step" in attrs, "needs start and step")
    return (type,)


@_infers(*UNARY, *ACTIVATIONS)
def _unary(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    return (x.type,)


@_infers(*BINARY)
def _binary(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    a, b = inputs
    return (Type(_same_dtype(inputs), broadcast(a.shape, b.shape)),)


@_infers(*COMPARE, "isnan", "isinf")
def _question(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    _same_dtype(inputs)
    return (Type("bool", broadcast(*(one.shape for one in inputs))),)


@_infers("where")
def _where(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    condition, a, b = inputs
    _need(condition.dtype == "bool", f"the condition is {condition.dtype}, not bool")
    return (Type(_same_dtype((a, b)), broadcast(condition.shape, a.shape, b.shape)),)


@_infers("cast")
def _cast(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    return (Type(_given(given).dtype, x.shape),)


@_infers("reshape")
def _reshape(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    shape = _given(given).shape
    _need(prod(shape) == x.type.size, f"{x.type} has not as many elements as {shape}")
    return (Type(x.dtype, shape),)


@_infers("permute")
def _permute(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dims = attrs["dims"]
    _need(sorted(dims) == list(range(len(x.shape))), f"dims {dims} do not permute rank {len(x.shape)}")
    return (Type(x.dtype, tuple(x.shape[d] for d in dims)),)


@_infers("expand")
def _expand(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    shape = _given(given).shape
    _need(len(shape) >= len(x.shape), f"{x.type} does not expand to {shape}")
    tail = shape[len(shape) - len(x.shape) :]
    _need(all(have in (want, 1) for have, want in zip(x.shape, tail)), f"{x.type} does not expand to {shape}")
    return (Type(x.dtype, shape),)


@_infers("slice")
def _slice(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dim = _dim(attrs, len(x.shape))
    start, step = attrs["start"], attrs["step"]
    shape = _given(given).shape
    _need(len(shape) == len(x.shape), f"rank {len(shape)} from rank {len(x.shape)}")
    _need(all(a == b for i, (a, b) in enumerate(zip(shape, x.shape)) if i != dim), f"only dimension {dim} may change")
    _need(start >= 0 and step > 0, f"start {start}, step {step}: start must be ≥ 0 and step > 0")
    _need(shape[dim] == 0 or start + (shape[dim] - 1) * step < x.shape[dim], f"reads beyond extent {x.shape[dim]}")
    return (Type(x.dtype, shape),)


@_infers("select")
def _select(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dim = _dim(attrs, len(x.shape))
    _need(0 <= attrs["index"] < x.shape[dim], f"index {attrs['index']} is outside of extent {x.shape[dim]}")
    return (Type(x.dtype, x.shape[:dim] + x.shape[dim + 1 :]),)


@_infers("flip", "cumsum", "cumprod", "softmax", "log_softmax")
def _same(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    for dim in attrs["dims"] if "dims" in attrs else (attrs["dim"],):
        _dim({"dim": dim}, len(x.shape))
    return (x.type if is_float(x.dtype) or given is None else Type(_given(given).dtype, x.shape),)


@_infers("diagonal")
def _diagonal(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    first, second = _dim(attrs, len(x.shape), "dim1"), _dim(attrs, len(x.shape), "dim2")
    _need(first != second, "dim1 equals dim2")
    offset = attrs["offset"]
    rows, columns = x.shape[first] + min(offset, 0), x.shape[second] - max(offset, 0)
    rest = tuple(e for i, e in enumerate(x.shape) if i not in (first, second))
    return (Type(x.dtype, (*rest, max(min(rows, columns), 0))),)


@_infers("unfold")
def _unfold(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dim, size, step = _dim(attrs, len(x.shape)), attrs["size"], attrs["step"]
    _need(size <= (x.shape[dim] if x.shape else 1), f"windows of {size} in extent {x.shape[dim]}")
    if not x.shape:
        return (Type(x.dtype, (size,)),)
    windows = (x.shape[dim] - size) // step + 1
    return (Type(x.dtype, (*x.shape[:dim], windows, *x.shape[dim + 1 :], size)),)


@_infers("cat")
def _cat(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    dim = _dim(attrs, len(inputs[0].shape))
    outside = {(n.shape[:dim], n.shape[dim + 1 :]) for n in inputs}
    _need(len(outside) == 1, f"shapes {', '.join(str(n.shape) for n in inputs)} differ outside of dimension {dim}")
    extent = sum(n.shape[dim] for n in inputs)
    first = inputs[0].shape
    return (Type(_same_dtype(inputs), (*first[:dim], extent, *first[dim + 1 :])),)


@_infers("pad")
def _pad(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    pads = attrs["pads"]
    _need(len(pads) == len(x.shape), f"{len(pads)} pads for rank {len(x.shape)}")
    _need(attrs["mode"] in ("constant", "reflect", "replicate", "circular"), f"unknown mode {attrs['mode']!r}")
    shape = tuple(e + before + after for e, (before, after) in zip(x.shape, pads))
    _need(all(e >= 0 for e in shape), f"negative extent in {shape}")
    return (Type(x.dtype, shape),)


def _index_shape(x: Node, indices: Sequence[Node], dims: Sequence[int]) -> Shape:
    _need(len(indices) == len(dims), f"{len(indices)} indices for {len(dims)} dims")
    _need(list(dims) == list(range(dims[0], dims[0] + len(dims))), f"dims {dims} are not adjacent")
    middle = broadcast(*(i.shape for i in indices))
    return (*x.shape[: dims[0]], *middle, *x.shape[dims[0] + len(dims) :])


@_infers("index")
def _index(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, *indices = inputs
    return (Type(x.dtype, _index_shape(x, indices, attrs["dims"])),)


@_infers("gather")
def _gather(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, index = inputs
    _dim(attrs, len(x.shape))
    return (Type(x.dtype, index.shape),)


@_infers("embedding")
def _embedding(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    weight, index = inputs
    return (Type(weight.dtype, index.shape + weight.shape[1:]),)


@_infers("index_put", "scatter")
def _written(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    return (inputs[0].type,)


@_infers("sum", "prod", "amax", "amin", "mean", "var")
def _reduction(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dtype = x.dtype if is_float(x.dtype) or given is None else _given(given).dtype
    return (Type(dtype, reduced(x.shape, attrs["dims"], attrs["keepdim"])),)


@_infers("any", "all")
def _quantifier(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    return (Type("bool", reduced(x.shape, attrs["dims"], attrs["keepdim"])),)


@_infers("argmax", "argmin")
def _position(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    dims = None if attrs["dim"] is None else (attrs["dim"],)
    return (Type("i64", reduced(x.shape, dims, attrs["keepdim"])),)


@_infers("layer_norm", "rms_norm", "group_norm", "batch_norm")
def _norm(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, *rest = inputs
    statistics = 2 if "axes" not in attrs and "groups" not in attrs else 0
    expected = statistics + bool(attrs["has_weight"]) + bool(attrs.get("has_bias", False))
    _need(len(rest) == expected, f"{len(inputs)} inputs, expected {expected + 1}")
    want = x.shape[-attrs["axes"] :] if "axes" in attrs else x.shape[1:2]
    for node in rest:
        _need(node.shape == want, f"%{node.name} is {node.type}, must have the shape {want}")
    return (Type(_same_dtype(inputs), x.shape),)


@_infers("linear", "byte_linear")
def _linear(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, weight, *bias = inputs
    _need(len(weight.shape) == 2 and x.shape[-1] == weight.shape[1], f"{x.type} does not fit weight {weight.type}")
    _need(all(b.shape == weight.shape[:1] for b in bias), "the bias must have one element per row of the weight")
    return (Type(_same_dtype(inputs), (*x.shape[:-1], weight.shape[0])),)


@_infers("matmul")
def _matmul(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    a, b = inputs
    _need(min(len(a.shape), len(b.shape)) >= 2, "both inputs must be at least 2-d")
    _need(a.shape[-1] == b.shape[-2], f"{a.type} × {b.type}")
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    return (Type(_same_dtype(inputs), (*batch, a.shape[-2], b.shape[-1])),)


@_infers("conv", "byte_conv")
def _conv(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, weight, *bias = inputs
    space, kernel, groups = x.shape[2:], weight.shape[2:], attrs["groups"]
    _need(len(space) == len(kernel), f"{x.type} and weight {weight.type} differ in rank")
    for key in ("stride", "padding", "dilation"):
        _need(len(attrs[key]) == len(space), f"{key} {attrs[key]} for {len(space)} space dimensions")
    per_group = weight.shape[0] // groups if attrs["transposed"] else weight.shape[1]
    _need(per_group * groups == x.shape[1], f"{x.shape[1]} channels, weight {weight.type}, {groups} groups")
    channels = weight.shape[1] * groups if attrs["transposed"] else weight.shape[0]
    _need(all(b.shape == (channels,) for b in bias), "the bias must have one element per output channel")
    extents = []
    for i, (extent, k) in enumerate(zip(space, kernel)):
        stride, (before, after), dilation = attrs["stride"][i], attrs["padding"][i], attrs["dilation"][i]
        reach = dilation * (k - 1) + 1
        if attrs["transposed"]:
            extents.append((extent - 1) * stride - before - after + reach + attrs["output_padding"][i])
        else:
            extents.append((extent + before + after - reach) // stride + 1)
    return (Type(_same_dtype(inputs), (x.shape[0], channels, *extents)),)


@_infers("conv_weight_grad")
def _conv_weight_grad(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, dy = inputs
    space, kernel, groups = x.shape[2:], attrs["kernel"], attrs["groups"]
    _need(len(space) == len(kernel) == len(dy.shape) - 2, f"{x.type}, {dy.type} and kernel {kernel} differ in rank")
    _need(x.shape[0] == dy.shape[0], f"{x.type} and {dy.type} differ in batch size")
    _need(x.shape[1] % groups == 0 == dy.shape[1] % groups, f"{x.type} and {dy.type} in {groups} groups")
    for key in ("stride", "padding", "dilation"):
        _need(len(attrs[key]) == len(space), f"{key} {attrs[key]} for {len(space)} space dimensions")
    return (Type(_same_dtype(inputs), (dy.shape[1], x.shape[1] // groups, *kernel)),)


@_infers("attention")
def _attention(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    q, k, v = inputs[:3]
    _need(q.shape[-1] == k.shape[-1], f"q {q.type} and k {k.type} differ in the last dimension")
    _need(k.shape[-2] == v.shape[-2], f"k {k.type} and v {v.type} differ in length")
    _need(attrs.get("gqa") or len(q.shape) == len(k.shape), f"q {q.type} and k {k.type} differ in rank")
    return (Type(_same_dtype((q, k, v)), (*q.shape[:-1], v.shape[-1])),)


@_infers("attention_forward")
def _attention_forward(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (out,) = _attention(inputs, attrs, given)
    _need(inputs[0].shape[:-2] == inputs[1].shape[:-2], f"q {inputs[0].type} and k {inputs[1].type} differ in heads")
    return (out, Type(out.dtype, out.shape[:-1]))


@_infers("attention_backward")
def _attention_backward(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    dout, q, k, v, out, logsumexp, *mask = inputs
    made = _attention_forward((q, k, v, *mask), attrs, given)
    _need(dout.type == out.type == made[0], f"{dout.type} and {out.type} are not results of attention, {made[0]}")
    _need(logsumexp.type == made[1], f"{logsumexp.type} are not the rows of {made[0]}")
    return (q.type, k.type, v.type)


@_infers("linear_cross_entropy", "linear_cross_entropy_backward")
def _linear_cross_entropy(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, weight, labels = inputs[:3]
    _need(x.shape == (*labels.shape, weight.shape[1]), f"{x.type} has no row for each of {labels.type}")
    number, row = (Type(_same_dtype((x, weight)), shape) for shape in ((), labels.shape))
    each = {"x": x.type, "weight": weight.type, "bias": Type(x.dtype, weight.shape[:1])}
    gradients = (each[name] for name in attrs["gradients"])
    return (number, number, row, *gradients) if "mean" in attrs else tuple(gradients)


@_infers("lstm", "gru", "rnn")
def _recurrent(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    states = [n.type for n in inputs[1:3]] if given is None or len(given) == 3 else [inputs[1].type]
    width = states[0].shape[-1] * (2 if attrs["bidirectional"] else 1)
    return (Type(_same_dtype(inputs), (*inputs[0].shape[:-1], width)), *states)


@_infers("recurrence")
def _recurrence(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (time, batch, rows), h, weight = inputs[0].shape, inputs[1], inputs[3 if attrs["cell"] == "lstm" else 2]
    _need(h.shape == (batch, weight.shape[-1]), f"{h.type} is no state of {batch} sequences beside {weight.type}")
    _need(weight.shape[0] == rows, f"{inputs[0].type} has other gates than {weight.type}")
    states = Type(_same_dtype(inputs), (time + 1, *h.shape))
    gates = Type(states.dtype, (time, batch, 4 * h.shape[-1]))
    return {"lstm": (states, states, gates), "gru": (states, gates)}.get(attrs["cell"], (states,))


@_infers("recurrence_backward")
def _recurrence_backward(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    shown, weight = inputs[0], inputs[-1]
    _need(shown.shape[-1] == weight.shape[-1], f"{shown.type} are no gradients of states beside {weight.type}")
    of_x = Type(_same_dtype(inputs), (*shown.shape[:-1], weight.shape[0]))
    state = Type(of_x.dtype, shown.shape[1:])
    return {"lstm": (of_x, state, state), "gru": (of_x, state, of_x)}.get(attrs["cell"], (of_x, state))


@_infers("byte_lstm")
def _byte_lstm(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, h, c, weight, sums, scale = inputs
    (batch, units), rows = h.shape, x.shape[-1]
    _need(x.shape[1:] == (batch, 4 * units) and c.shape == h.shape, f"{x.type} does not fit states {h.type}, {c.type}")
    _need(weight.shape == (rows, units // 4), f"{weight.type} does not fit {rows} gates of {units} units")
    _need(sums.shape == scale.shape == (rows,), f"{rows} gates, but {sums.type} and {scale.type}")
    return (Type(x.dtype, (x.shape[0], batch, units)), h.type, c.type)


@_infers("walk_trees")
def _walk_trees(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, nodes = inputs
    wide = {"f32": "i32", "f64": "i64"}.get(x.dtype)
    _need(len(x.shape) == len(nodes.shape) == 2 and nodes.dtype == wide, f"{x.type} does not fit nodes {nodes.type}")
    fields = 2 + (not attrs["bits"]) + bool(attrs["between"])
    _need(nodes.shape[1] == fields, f"{nodes.type} are not nodes of {fields} numbers")
    _need(0 < attrs["trees"] <= nodes.shape[0], f"{attrs['trees']} trees of {nodes.shape[0]} nodes")
    return (Type("i32", (x.shape[0], attrs["trees"])),)


@_infers("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "upsample_nearest", "upsample_linear")
def _window(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    type = _given(given)
    _need(type.rank == len(x.shape) and type.shape[:2] == x.shape[:2], f"{x.type} does not become {type}")
    return (Type(x.dtype, type.shape),)


@_infers("max_pool_indices")
def _max_pool_indices(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, y = inputs
    _need(len(x.shape) == len(y.shape) and x.shape[:2] == y.shape[:2], f"{y.type} is no max_pool of {x.type}")
    _same_dtype(inputs)
    return (Type("i64", y.shape),)


@_infers("max_pool_backward")
def _max_pool_backward(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    dy, indices = inputs
    type = _given(given)
    _need(dy.shape == indices.shape and indices.dtype == "i64", f"{indices.type} are not the indices of {dy.type}")
    _need(type.rank == len(dy.shape) and type.shape[:2] == dy.shape[:2], f"{dy.type} is no gradient of {type}")
    return (Type(dy.dtype, type.shape),)


@_infers("grid_sample")
def _grid_sample(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    x, grid = inputs
    fits = len(x.shape) == len(grid.shape) == 4 and grid.shape[0] == x.shape[0] and grid.shape[3] == 2
    _need(fits and x.dtype == grid.dtype, f"{grid.type} is no grid for {x.type}")
    return (Type(x.dtype, (*x.shape[:2], *grid.shape[1:3])),)


@_infers("item")
def _item(inputs: Sequence[Node], attrs: Attrs, given: Given) -> tuple[Type, ...]:
    (x,) = inputs
    _need(0 <= attrs["index"] < len(x.types), f"result {attrs['index']} of {len(x.types)}")
    return (x.types[attrs["index"]],)
