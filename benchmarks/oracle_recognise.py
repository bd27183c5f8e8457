"""What a recording computes, family by family, from executed operations and values; no source is read here.

A recogniser starts at an operation that the family cannot do without (softmax, a root, erf, a product, batch norm),
finds the value the computation begins with, and runs that part of the recording again on other numbers: what comes out
must be the norm, the activation. `variant` says which; a variant that begins with `near:` looks like the family and is
not the thing itself, so it is neither a true place nor an error to report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from oracle_attention import attentions_in, crossed_projections, shared_projections
from oracle_flow import JOINS, KEPT, LINEARS, PRODUCTS, VIEWS, Flow, kind
from oracle_found import Found, found_at
from oracle_record import Op
from torch.nn import functional

FAMILIES = ("attention", "norm", "activation", "gated_mlp", "rotary", "qkv", "conv_bn")
_ARITHMETIC = frozenset(
    ["add", "sub", "rsub", "mul", "div", "rdiv", "pow", "rpow", "square", "neg", "reciprocal", "addcmul"]
)
_CASTS = frozenset(["to", "float", "type", "type_as", "contiguous", "double", "half", "bfloat16", "clone"])
_NORM_PARTS = frozenset(["mean", "rsqrt", "sqrt", "layer_norm", "rms_norm"])
_UNARY = frozenset(
    [
        "silu",
        "gelu",
        "relu",
        "tanh",
        "sigmoid",
        "mish",
        "elu",
        "leaky_relu",
        "relu6",
        "hardswish",
        "softplus",
        "hardsigmoid",
        "selu",
        "celu",
        "softsign",
        "logsigmoid",
        "quick_gelu",
        "square",
    ]
)


def recognise(flow: Flow) -> list[Found]:
    """Everything that the recognisers find in one run."""
    attentions = list(attentions_in(flow))
    activations = list(_activations(flow))
    return [
        *(found for found, _ in attentions if found is not None),
        *shared_projections(flow, [ends for _, ends in attentions]),
        *(each for _, ends in attentions for each in crossed_projections(flow, ends)),
        *(found for found, _, _ in activations),
        *_norms(flow),
        *_gated(flow, {y: x for _, x, y in activations}),
        *_rotations(flow),
        *_conv_norms(flow),
    ]


# norms


def _norms(flow: Flow) -> Iterator[Found]:
    seen: set[tuple[object, ...]] = set()
    for op in flow.recording.ops:
        if kind(op) not in ("rsqrt", "sqrt", "pow", "std") or not flow.floating(op.writes[0]):
            continue
        if kind(op) == "pow" and not (len(op.args) > 1 and op.args[1] in (0.5, -0.5)):
            continue
        here = (op.name, *((frame.file, frame.first) for frame in op.frames))
        if here in seen:
            continue
        found = _norm(flow, op)
        if found is not None:
            seen.add(here)
            yield found


def _norm(flow: Flow, root: Op) -> Found | None:
    statistics = {"mean", "var", "sum", "var_mean", "std", "norm", "linalg_norm", "vector_norm"}
    if not root.reads or flow.values[root.writes[0]].dim() == 0:
        return None
    reductions = flow.back_to(root.reads[0], lambda o: kind(o) in statistics, limit=8)
    if kind(root) == "std":
        reductions = [root]
    for reduction in reductions:
        whole = flow.values[reduction.reads[0]]
        best: Found | None = None
        for start in sorted(
            flow.net(reduction.reads[0], _ARITHMETIC | _CASTS | {"mean", "abs"}, limit=12), reverse=True
        ):
            x = flow.values[start]
            if flow.constant(start) or x.shape != whole.shape or not torch.is_floating_point(x) or x.dim() < 2:
                continue
            found = _normalised(flow, root, start)
            if found is not None and found.variant.endswith("layer"):
                return found  # its centred input also passes for an RMS norm
            best = best or found
        if best is not None:
            return best
    return None


def _normalised(flow: Flow, root: Op, start: int) -> Found | None:
    """The first value after the root that is the input, normalised; then its weight and bias."""
    x = flow.values[start]
    probe = torch.randn(x.shape, generator=torch.Generator().manual_seed(1)) * 2 + 0.7
    for number in _forward(flow, root.writes[0], 6, _ARITHMETIC | _CASTS):
        if flow.values[number].shape != x.shape:
            continue
        try:
            after = flow.recording.replay(number, {start: probe})
        except Exception:  # the recording holds shapes of its own run
            continue
        variant = _which_norm(probe, after)
        ops = flow.recording.between(number, {start: probe}, start) if variant else []
        if len(ops) >= 3:
            return found_at("norm", variant, [*ops, *_affine(flow, ops[-1])])
    return None


def _affine(flow: Flow, last: Op) -> Iterator[Op]:
    """What multiplies by a weight and adds a bias, in the same function or, behind a helper, in its caller."""
    inside = last.frames[: 1 if last.frames[0].function.endswith("forward") else 2]
    calls = {frame.call for frame in inside}
    for _ in range(4):
        number = last.writes[0]
        after = [op for op in flow.consumers(number) if kind(op) in _CASTS | {"mul", "add"}]
        if len(after) != 1 or not all(flow.constant(n) for n in flow.others(after[0], number)):
            return
        last = after[0]
        if not last.frames or last.frames[0].call not in calls:
            return
        yield last


def _which_norm(x: torch.Tensor, y: torch.Tensor) -> str:
    for axis in (-1, 1, -2):
        if x.dim() + (axis if axis < 0 else -1) < 1 or x.shape[axis] < 2:
            continue
        prefix = "" if axis in (-1, x.dim() - 1) else "near:axis "
        centred = x - x.mean(axis, keepdim=True)
        if _close(y, x / x.square().mean(axis, keepdim=True).sqrt()):
            return f"{prefix}rms"
        if _close(y, centred / centred.square().mean(axis, keepdim=True).sqrt()):
            return f"{prefix}layer"
    return ""


def _close(a: torch.Tensor, b: torch.Tensor, tolerance: float = 2e-3) -> bool:
    return a.shape == b.shape and bool(torch.isfinite(a).all()) and bool((a - b).abs().max() < tolerance)


def _forward(flow: Flow, number: int, depth: int, kinds: frozenset[str]) -> list[int]:
    """Values that are reached from one by such operations, in the order of execution."""
    reached, waiting = set(), [(number, 0)]
    while waiting:
        current, level = waiting.pop()
        if current in reached or level > depth:
            continue
        reached.add(current)
        for op in flow.consumers(current):
            if kind(op) in kinds:
                waiting.extend((n, level + 1) for n in op.writes)
    return sorted(reached)


# activations written out


ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": functional.silu,
}


def _activations(flow: Flow) -> Iterator[tuple[Found, int, int]]:
    for op in flow.recording.ops:
        if kind(op) not in ("erf", "tanh", "sigmoid", "exp") or not op.reads or not flow.floating(op.writes[0]):
            continue
        for start in sorted(flow.roots(op.reads[0], _ARITHMETIC | _CASTS, limit=16)):
            if flow.constant(start) or flow.values[start].shape != flow.values[op.writes[0]].shape:
                continue
            found = _activation(flow, op, start)
            if found is not None:
                yield found


def _activation(flow: Flow, op: Op, start: int) -> tuple[Found, int, int] | None:
    x = flow.values[start]
    probe = torch.linspace(-5, 5, max(x.numel(), 2))[: x.numel()].reshape(x.shape)
    for number in _forward(flow, op.writes[0], 5, _ARITHMETIC | _CASTS):
        if number == op.writes[0] or flow.values[number].shape != x.shape:
            continue
        try:
            after = flow.recording.replay(number, {start: probe})
        except Exception:  # the recording holds shapes of its own run
            continue
        for name, function in ACTIVATIONS.items():
            if _close(after, function(probe), 2e-4):
                found = found_at("activation", name, flow.recording.between(number, {start: probe}, start))
                return (found, start, number) if found else None
    return None


# act(x·W1) · (x·W2) → W3


def _gated(flow: Flow, written: dict[int, int]) -> Iterator[Found]:
    for op in flow.recording.ops:
        if kind(op) != "mul" or len(op.reads) != 2 or op.reads[0] == op.reads[1]:
            continue
        for gate, up in (op.reads, op.reads[::-1]):
            found = _gate(flow, op, gate, up, written)
            if found is not None:
                yield found
                break


def _gate(flow: Flow, product: Op, gate: int, up: int, written: dict[int, int]) -> Found | None:
    number = flow.through(gate, _CASTS | {"dropout"})
    if number in written:
        before, steps = written[number], [flow.producer[number]]
    else:
        before, steps = number, []
        while (act := flow.producer.get(before)) is not None and kind(act) in _UNARY and act.reads:
            steps.append(act)
            before = act.reads[0]
        if not steps:
            return None
    shift = flow.producer.get(up)
    shifted = shift is not None and kind(shift) in ("add", "sub") and len(shift.reads) == 1
    left = _projected(flow, before)
    right = _projected(flow, shift.reads[0] if shift is not None and shifted else up)
    if left is None or right is None or left[1] != right[1]:
        return None
    if not _leads_to_projection(flow, product.writes[0]):
        return None
    variant = "near:shifted" if shifted else "separate" if left[0] != right[0] else "fused"
    return found_at("gated_mlp", variant, [product, *steps])


def _projected(flow: Flow, number: int) -> tuple[int, int] | None:
    """The projection that a value is, possibly in parts or with others of its input added, and what it projects."""
    op = flow.producer.get(flow.through(number, VIEWS | {"clamp", "cat"}))
    if op is None:
        return None
    if _projection(flow, op):
        data = [n for n in op.reads if not flow.constant(n)]
        return (op.index, flow.through(data[0], KEPT)) if data else None
    if kind(op) != "add":
        return None
    parts = [_projected(flow, read) for read in op.reads if not flow.constant(read)]
    if not parts or any(part is None for part in parts):
        return None
    sources = {_before_projections(flow, part[1], limit=min(p[1] for p in parts if p)) for part in parts if part}
    return (op.index, sources.pop()) if len(sources) == 1 else None


def _before_projections(flow: Flow, number: int, limit: int) -> int:
    """What an adapter of several projections starts from; not before the value `limit`."""
    while number > limit and (op := flow.producer.get(number)) is not None and _projection(flow, op):
        number = flow.through(op.reads[0])
    return number


def _projection(flow: Flow, op: Op) -> bool:
    if kind(op) in LINEARS:
        return True
    return kind(op) in PRODUCTS and len(op.reads) == 2 and flow.constant(op.reads[1])


def _leads_to_projection(flow: Flow, number: int) -> bool:
    """Whether a projection follows, directly or after a norm or other arithmetic."""
    waiting, seen = [(number, 0)], set()
    while waiting:
        current, depth = waiting.pop(0)
        for op in flow.consumers(current):
            if _projection(flow, op):
                return True
            if depth < 9 and current not in seen and kind(op) in VIEWS | _ARITHMETIC | _NORM_PARTS:
                waiting.extend((n, depth + 1) for n in op.writes)
        seen.add(current)
    return False


# rotary embedding: every pair of numbers is turned by an angle


def _rotations(flow: Flow) -> Iterator[Found]:
    for op in flow.recording.ops:
        name = kind(op)
        found = None
        if name in ("add", "sub", "rsub") and len(op.reads) == 2:
            found = _rotation(flow, op)
        elif name == "mul" and len(op.reads) == 2 and flow.values[op.writes[0]].is_complex():
            found = _complex_rotation(flow, op)
        if found is not None:
            yield found


def _rotation(flow: Flow, op: Op) -> Found | None:
    left, right = (flow.producer.get(flow.through(n, _CASTS)) for n in op.reads)
    if left is None or right is None or kind(left) != "mul" or kind(right) != "mul":
        return None
    if len(left.reads) != 2 or len(right.reads) != 2:
        return None
    for data, cosine in (left.reads, left.reads[::-1]):
        for turned, sine in (right.reads, right.reads[::-1]):
            if not _unit(flow.values[cosine], flow.values[sine]):
                continue
            moves = VIEWS | JOINS | {"mul"}
            if flow.net(data, VIEWS | JOINS).keys() & flow.net(turned, moves).keys():
                helpers = flow.recording.between(turned, {data: flow.values[data]}, data)
                if helpers and not _keeps_length(flow, op.writes[0], data):
                    continue
                return found_at("rotary", "real", [op, left, right, *helpers])
    return None


def _keeps_length(flow: Flow, number: int, data: int) -> bool:
    """Whether vectors are as long afterwards, up to one factor: tables may not fit the pairs that are turned."""
    probe = torch.randn(flow.values[data].shape, generator=torch.Generator().manual_seed(2))
    after = flow.recording.replay(number, {data: probe})
    ratio = after.square().sum(-1) / probe.square().sum(-1)
    return after.shape == probe.shape and bool((ratio - ratio.max()).abs().max() < 1e-3 * ratio.max())


def _complex_rotation(flow: Flow, op: Op) -> Found | None:
    for data, table in (op.reads, op.reads[::-1]):
        size = flow.values[table].abs()
        if (
            torch.is_complex(flow.values[table])
            and not flow.constant(data)
            and bool((size - size.max()).abs().max() < 1e-3)
        ):
            return found_at("rotary", "complex", [op])
    return None


def _unit(cosine: torch.Tensor, sine: torch.Tensor) -> bool:
    """Whether two tables are cosines and sines of the same angles, up to one factor."""
    if cosine.shape != sine.shape or cosine.numel() < 2 or not torch.is_floating_point(cosine):
        return False
    square = cosine.double() ** 2 + sine.double() ** 2
    size = square.max()
    return bool(size > 1e-2) and bool((square - size).abs().max() < 1e-3 * size) and float(cosine.std()) > 1e-6


# convolution, then batch norm


def _conv_norms(flow: Flow) -> Iterator[Found]:
    for op in flow.recording.ops:
        if kind(op) != "batch_norm":
            continue
        conv = flow.producer.get(op.reads[0])
        if conv is None or not kind(conv).startswith("conv"):
            continue
        if len(flow.consumers(op.reads[0])) != 1:
            continue
        variant = "near:transposed" if "transpose" in kind(conv) else kind(conv)
        found = found_at("conv_bn", variant, [conv, op])
        if found is not None:
            yield found
