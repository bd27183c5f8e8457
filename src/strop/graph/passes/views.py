"""Views compose: reshapes, permutations, broadcasts and slices of one another become one view, or none.

A reshape that only merges or splits batch dimensions sinks: behind a matmul or linear, behind pointwise operators and
those that work on rows, until it meets its inverse or something that it matters to. That is how `view → bmm → view`,
which tracing makes of every batched product, becomes one `matmul` again, and how a bias finds its `addmm`.
"""

from __future__ import annotations

from strop.core.patterns import Bind, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.infer import broadcast
from strop.graph.ir import Node
from strop.graph.operators import ACTIVATIONS, BINARY, COMPARE, POINTWISE, UNARY
from strop.graph.passes.language import P, number_of, x, y


def _same_type(x: Node, root: Node) -> bool:
    return x.type == root.type


def _compose(x: Node, inner: Node, root: Node) -> Node:
    return build.permute(x, tuple(inner.attrs["dims"][d] for d in root.attrs["dims"]))


def _keeps_order(x: Node, root: Node) -> bool:
    """A permutation that moves only extents of 1 moves nothing."""
    moved = [d for d in root.attrs["dims"] if x.shape[d] != 1]
    return moved == sorted(moved)


def _slice_of_slice(x: Node, inner: Node, root: Node) -> Node:
    dim, step = root.attrs["dim"], inner.attrs["step"]
    attrs = {
        "dim": dim,
        "start": inner.attrs["start"] + root.attrs["start"] * step,
        "step": root.attrs["step"] * step,
    }
    return build.make("slice", (x,), attrs, types=root.types)


def _part(whole: Node, root: Node) -> Node | None:
    """The operand of a `cat` that a slice takes out whole."""
    dim, at = root.attrs["dim"], 0
    if root.attrs["step"] != 1 or dim != whole.attrs["dim"] % len(root.shape):
        return None
    for part in whole.inputs:
        if at == root.attrs["start"] and part.shape == root.shape:
            return part
        at += part.shape[dim]
    return None


def _without_expands(root: Node) -> Node | None:
    """Pointwise operators broadcast by themselves, `matmul` its batch dimensions (all but `fixed` at the end)."""
    fixed = 2 if root.op == "matmul" else 0
    inputs = list(root.inputs)
    for i, used in enumerate(root.inputs):
        if used.op != "expand" or (fixed and used.inputs[0].shape[-fixed:] != used.shape[-fixed:]):
            continue
        trial = [*inputs[:i], used.inputs[0], *inputs[i + 1 :]]
        if broadcast(*(n.shape[: len(n.shape) - fixed] for n in trial)) == root.shape[: len(root.shape) - fixed]:
            inputs = trial
    if all(a is b for a, b in zip(inputs, root.inputs)):
        return None
    return build.make(root.op, inputs, root.attrs, types=root.types)


def _has_expand(root: Node) -> bool:
    return any(i.op == "expand" for i in root.inputs)


def _merges_batch(x: Node, y: Node, root: Node) -> bool:
    a, b = root.inputs
    return (
        x.shape[-2:] == a.shape[-2:]
        and y.shape[-2:] == b.shape[-2:]
        and x.shape[:-2] == y.shape[:-2]
        and a.shape[:-2] == b.shape[:-2]
    )


def _keeps_last(x: Node, root: Node) -> bool:
    return len(x.shape) > 0 and x.shape[-1:] == root.inputs[0].shape[-1:] and x.type.size > 0


def _is_global(root: Node) -> bool:
    return all(e == 1 for e in root.shape[2:])


def _reduces_ones(x: Node, root: Node) -> bool:
    dims = root.attrs["dims"] or range(len(x.shape))
    return x.dtype == root.dtype and all(x.shape[d] == 1 for d in dims)


def _rows(w: Node, i: Node, root: Node) -> Node | None:
    start, step = i.attrs["start"], i.attrs["step"]
    stop = start + step * root.shape[0]
    if step != 1 or start < 0 or stop > w.shape[0]:
        return None
    return build.slice(w, 0, start, stop)


def _affine(index: Node) -> tuple[int, int] | None:
    """(start, step) of an index tensor that counts through one dimension, however it is shaped."""
    if (number := number_of(index)) is not None:
        return int(number), 1
    if index.op == "reshape":
        return _affine(index.inputs[0])
    return (index.attrs["start"], index.attrs["step"]) if index.op == "arange" else None


def _regular(root: Node) -> Node | None:
    """An index by numbers and by at most one range reads what a slice reads."""
    x, *indices = root.inputs
    ranged = [i for i in indices if i.type.size > 1]
    if len(ranged) > 1:
        return None
    result, dim = x, root.attrs["dims"][0]
    for index in indices:
        found = _affine(index)
        count = index.type.size
        if found is None or (number_of(index) is not None and count > 1):
            return None
        start, step = found
        if start < 0 or step < 1 or start + step * (count - 1) >= x.shape[dim]:
            return None
        result = build.slice(result, dim, start, start + step * (count - 1) + 1, step)
        dim += 1
    return build.reshape(result, root.shape)


compose = Rules(
    Rule("reshape to itself → x", P.reshape(x), lambda x: x, _same_type),
    Rule("expand to itself → x", P.expand(x), lambda x: x, _same_type),
    Rule("slice of everything → x", P.slice(x), lambda x: x, _same_type),
    Rule("pad by nothing → x", P.pad(x), lambda x: x, lambda root: not any(map(any, root.attrs["pads"]))),
    Rule("cat of one → x", P.cat(x), lambda x: x),
    Rule("reshape∘reshape → reshape", P.reshape(P.reshape(x)), lambda x, root: build.reshape(x, root.shape)),
    Rule("expand∘expand → expand", P.expand(P.expand(x)), lambda x, root: build.expand(x, root.shape)),
    Rule("permute∘permute → permute", P.permute(Bind("inner", P.permute(x))), _compose),
    Rule("permute of extents of 1 → reshape", P.permute(x),
         lambda x, root: build.reshape(x, root.shape), _keeps_order),
    Rule("slice∘slice → slice", P.slice(Bind("inner", P.slice(x))), _slice_of_slice,
         lambda inner, root: inner.attrs["dim"] == root.attrs["dim"]),
    Rule("slice of cat → its part", P.slice(Bind("whole", P.cat(...))), _part),
    Rule("flip∘flip → x", P.flip(P.flip(x, dims=PatternVar("dims")), dims=PatternVar("dims")), lambda x: x),
    Rule("broadcast without expand", P.op({*POINTWISE, "matmul"} - {"cast"}, ...),
         _without_expands, _has_expand),
)  # fmt: skip


def _small_operand(node: Node, shape: tuple[int, ...]) -> Node | None:
    """A number, or a vector along the last dimension, in the form that broadcasts against any such shape."""
    if (number := number_of(node)) is not None and node.type.size == 1:
        return build.full(number, node.dtype)
    if node.type.size == 1 and not node.shape:
        return node
    if node.shape and node.shape[-1] == node.type.size == shape[-1] and len(node.shape) <= len(shape):
        return build.reshape(node, node.shape[-1:])
    return None


def _sink(root: Node, x: Node, y: Node) -> Node | None:
    """op(reshape(x), y) → reshape(op(x, y)) for a number or vector y; the same with the operands exchanged."""
    reshaped = next((i for i in root.inputs if i.op == "reshape" and i.inputs[0] is x and i is not y), None)
    if (
        reshaped is None
        or reshaped.shape != root.shape
        or not x.shape
        or not root.shape
        or x.shape[-1] != root.shape[-1]
    ):
        return None
    other = _small_operand(y, root.shape)
    if other is None:
        return None
    operands = (x, other) if root.inputs[0] is reshaped else (other, x)
    return build.reshape(build.make(root.op, operands, root.attrs), root.shape)


def _same_reshape(x: Node, y: Node, root: Node) -> bool:
    return x.shape == y.shape and all(i.shape == root.shape for i in root.inputs)


def _works_on_rows(x: Node, root: Node) -> bool:
    """Whether an operator treats each row (last dimension) alone, and the reshape leaves rows whole."""
    own = (
        root.attrs["axes"] == 1 if "axes" in root.attrs else root.attrs["dim"] % len(root.shape) == len(root.shape) - 1
    )
    return own and len(x.shape) > 0 and x.shape[-1] == root.shape[-1]


def _rows_first(x: Node, root: Node) -> Node:
    attrs = {**root.attrs, "dim": len(x.shape) - 1} if "dim" in root.attrs else root.attrs
    return build.reshape(build.make(root.op, (x, *root.inputs[1:]), attrs), root.shape)


def _rejoins(match: Match, linear: Node, root: Node) -> bool:
    return root.shape[-1:] == linear.shape[-1:] and root.type.size > 0 and bool(match.alone())


def _rejoined(x: Node, linear: Node, root: Node) -> Node:
    shape = (*root.shape[:-1], linear.inputs[0].shape[-1])
    return build.make("linear", (build.reshape(x, shape), *linear.inputs[1:]))


sink = Rules(
    Rule("f(reshape x) → reshape f(x)", P.op({*UNARY, *ACTIVATIONS}, P.reshape(x)),
         lambda x, root: build.reshape(build.make(root.op, (x,), root.attrs), root.shape)),
    Rule("f(reshape x, reshape y) → reshape f(x, y)", P.op({*BINARY, *COMPARE}, P.reshape(x), P.reshape(y)),
         lambda x, y, root: build.reshape(build.make(root.op, (x, y), root.attrs), root.shape), _same_reshape),
    Rule("f(reshape x, vector) → reshape f(x, vector)", P.either(
             P.op({*BINARY, *COMPARE}, P.reshape(x), y), P.op({*BINARY, *COMPARE}, y, P.reshape(x))), _sink),
    Rule("rows of a reshape → reshape of rows",
         P.op(("softmax", "log_softmax", "layer_norm", "rms_norm"), P.reshape(x), ...), _rows_first, _works_on_rows),
    Rule("reshape of linear of reshape → linear of reshape", P.reshape(Bind("linear", P.linear(P.reshape(x), ...))),
         _rejoined, _rejoins),
)  # fmt: skip

across = Rules(
    Rule("matmul of merged batches → reshape of matmul", P.matmul(P.reshape(x), P.reshape(y)),
         lambda x, y, root: build.reshape(build.matmul(x, y), root.shape), _merges_batch),
    Rule("linear of reshape → reshape of linear", P.linear(P.reshape(x), ...),
         lambda x, root: build.reshape(build.make("linear", (x, *root.inputs[1:])), root.shape), _keeps_last),
    Rule("embedding of reshape → reshape of embedding", P.embedding(x, P.reshape(y)),
         lambda x, y, root: build.reshape(build.make("embedding", (x, y)), root.shape)),
    Rule("embedding of expand → expand of embedding", P.embedding(x, P.expand(y)),
         lambda x, y, root: build.expand(build.make("embedding", (x, y)), root.shape)),
    Rule("embedding of arange → slice", P.embedding(PatternVar("w"), Bind("i", P.arange())), _rows),
    Rule("index by numbers and a range → slice", P.index(x, ...), _regular),
    Rule("global average pool → mean", P.adaptive_avg_pool(x),
         lambda x: build.reduce("mean", x, range(2, len(x.shape)), True), _is_global),
    Rule("reduction over extents of 1 → reshape", P.op(("sum", "prod", "mean", "amax", "amin"), x),
         lambda x, root: build.reshape(x, root.shape), _reduces_ones),
)  # fmt: skip

rules = compose + sink + across
