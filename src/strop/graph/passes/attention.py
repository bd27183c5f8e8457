"""Attention written out by hand: softmax(scale·q·kᵀ + mask)·v in its many spellings becomes one operator.

The scale may stand on q, on k, on both or on the scores, before or after the mask; the mask may be added or
selected with `where`; batch dimensions may be merged for a batched product. What keeps a spelling from being
attention is told: a softmax over another dimension, scores that are returned, a fill value too small to mask.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from strop.core.dtypes import is_float
from strop.core.passes import Verdict, no
from strop.core.patterns import Bind, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.fold import value_of
from strop.graph.passes.language import P, number_of

q, k, v = PatternVar("q"), PatternVar("k"), PatternVar("v")

#: a score below this is gone after softmax, and swallows the score that it is added to
MASKED = -1e9
#: constant masks are looked at up to 2048 × 2048
MASK_LIMIT = 1 << 22


@dataclass
class Scores:
    """What was found between the softmax and the product of q and k."""

    a: Node
    b: Node
    scale: float = 1.0
    masks: list[Node] = field(default_factory=list)
    interior: list[Node] = field(default_factory=list)
    batch: tuple[int, ...] | None = None


def _scaled(node: Node) -> tuple[Node, float] | None:
    """`node` as (value, number) when it is a value times a number."""
    if node.op not in ("mul", "div"):
        return None
    left, right = node.inputs
    if (number := number_of(right)) is not None and left.shape == node.shape:
        return left, float(number) if node.op == "mul" else 1.0 / float(number) if number else 0.0
    if node.op == "mul" and (number := number_of(left)) is not None and right.shape == node.shape:
        return right, float(number)
    return None


def _unscaled(node: Node) -> tuple[Node, float]:
    """A value without the number that multiplies it, looking through views."""
    if (found := _scaled(node)) is not None:
        inner, scale = _unscaled(found[0])
        return inner, scale * found[1]
    if node.op not in ("reshape", "permute", "expand"):
        return node, 1.0
    inner, scale = _unscaled(node.inputs[0])
    return (node, 1.0) if inner is node.inputs[0] else (replace(node, inputs=(inner,), name=""), scale)


def _has_product(node: Node) -> bool:
    """Whether scores can be found below: a matmul under scales, masks and reshapes."""
    while node.op != "matmul":
        if (found := _scaled(node)) is not None:
            node = found[0]
        elif node.op == "reshape":
            node = node.inputs[0]
        elif node.op == "add":
            return any(map(_has_product, node.inputs))
        elif node.op == "where":
            return any(map(_has_product, node.inputs[1:]))
        else:
            return False
    return True


def _read(node: Node) -> Scores | Verdict:
    """Walk from the softmax's input down to the product, collecting scale and masks."""
    masks: list[Node] = []
    interior: list[Node] = []
    batch: tuple[int, ...] | None = None
    scale = 1.0
    while node.op != "matmul":
        interior.append(node)
        if (found := _scaled(node)) is not None:
            node, scale = found[0], scale * found[1]
            continue
        if node.op == "reshape":
            inner = node.inputs[0]
            if inner.shape[-2:] != node.shape[-2:]:
                return no(f"the scores are reshaped from {inner.shape} to {node.shape}")
            batch, node = batch or node.shape[:-2], inner
            continue
        step = _mask(node, scale)
        if isinstance(step, Verdict):
            return step
        mask, inner = step
        if batch is not None:
            return no("the mask is applied before the batch dimensions are merged")
        if inner.shape != node.shape:
            return no(f"the mask stretches the scores from {inner.shape} to {node.shape}")
        masks.append(mask)
        node = inner
    interior.append(node)
    a, on_a = _unscaled(node.inputs[0])
    b, on_b = _unscaled(node.inputs[1])
    return Scores(a, b, scale * on_a * on_b, masks, interior, batch)


def _mask(node: Node, scale: float) -> tuple[Node, Node] | Verdict:
    """A mask and the scores below it; `scale` multiplies both."""
    if node.op == "add":
        left, right = node.inputs if _has_product(node.inputs[0]) else node.inputs[::-1]
        return (right if scale == 1.0 else build.mul(right, scale)), left
    if node.op != "where":
        return no(f"`{node.op}` stands between the product and the softmax")
    condition, yes_branch, no_branch = node.inputs
    keeps = number_of(no_branch) is not None
    scores, fill = (yes_branch, number_of(no_branch)) if keeps else (no_branch, number_of(yes_branch))
    if fill is None:
        return no("`where` chooses between two sets of scores")
    if not fill * scale <= MASKED:
        return no(f"masked scores become {fill * scale:g}, which a row without any other would feel")
    if fill * scale == -np.inf:
        return (condition if keeps else build.unary("not", condition)), scores
    zero, low = build.full(0.0, node.dtype), build.full(fill * scale, node.dtype)
    return build.make("where", (condition, *((zero, low) if keeps else (low, zero)))), scores


def _combined(masks: list[Node], dtype: str) -> Node | None:
    """All masks as one: bools alone stay bool, otherwise everything is added."""
    if not masks:
        return None
    if all(mask.dtype == "bool" for mask in masks):
        result = masks[0]
        for mask in masks[1:]:
            result = build.binary("and", result, mask)
        return result
    added = [
        build.where(m, build.full(0.0, dtype), build.full(-np.inf, dtype)) if m.dtype == "bool" else m for m in masks
    ]
    result = added[0]
    for mask in added[1:]:
        result = build.add(result, mask)
    return result


def _attention_when(match: Match, root: Node, soft: Node, scores: Node, v: Node) -> Verdict | bool:
    if not _has_product(scores):
        return False
    last = len(soft.shape) - 1
    if soft.attrs["dim"] % len(soft.shape) != last:
        return no(f"softmax over dimension {soft.attrs['dim']}, not the last")
    if not is_float(root.dtype):
        return no(f"attention in {root.dtype}")
    found = _read(scores)
    if isinstance(found, Verdict):
        return found
    if root.shape[:-2] != soft.shape[:-2]:
        return no(f"v stretches the batch from {soft.shape[:-2]} to {root.shape[:-2]}")
    if not found.scale > 0 or not np.isfinite(found.scale):
        return no(f"the scores are multiplied by {found.scale:g}")
    return replace(match, interior=(soft, *found.interior)).alone()


def _attention(root: Node, scores: Node, v: Node) -> Node | None:
    found = _read(scores)
    if isinstance(found, Verdict):
        return None
    batch = root.shape[:-2]
    left, right = _spread(found.a, found, batch), _spread(found.b, found, batch)
    values = build.expand(v, (*batch, *v.shape[-2:]))
    mask = _combined(found.masks, root.dtype)
    result = build.attention(left, build.swap(right), values, mask, scale=found.scale)
    if mask is None or _every_row_sees(mask):
        return result
    seen = mask if mask.dtype == "bool" else build.binary("ne", mask, -np.inf)
    return build.where(build.reduce("any", seen, (len(mask.shape) - 1,), True), result, np.nan)


def _every_row_sees(mask: Node) -> bool:
    """Whether no row of the mask is -∞ throughout. There softmax written out yields NaN, the operator zero."""
    if mask.dtype != "bool" and _is_finite(mask):
        return True
    values = value_of(mask, MASK_LIMIT)
    if values is None:
        return False
    return bool(np.all(np.any(values if mask.dtype == "bool" else values != -np.inf, axis=-1)))


def _is_finite(node: Node) -> bool:
    if (number := number_of(node)) is not None:
        return bool(np.isfinite(number))
    if node.op == "cast":
        return node.inputs[0].dtype == "bool"
    if node.op == "where":
        return all(map(_is_finite, node.inputs[1:]))
    return node.op in ("reshape", "expand", "permute", "mul", "neg") and all(map(_is_finite, node.inputs))


def _spread(node: Node, found: Scores, batch: tuple[int, ...]) -> Node:
    """An operand of the product with the batch dimensions that the result has."""
    matrix = node.shape[-2:]
    if found.batch is None:
        return build.expand(node, (*batch, *matrix))
    product = found.interior[-1].shape[:-2]
    return build.reshape(build.expand(node, (*product, *matrix)), (*batch, *matrix))


def _known_mask(root: Node) -> str:
    """'causal' or 'none' when the mask is a constant that says just that, else ''."""
    mask = root.inputs[3]
    rows, columns = root.inputs[0].shape[-2], root.inputs[1].shape[-2]
    if prod(mask.shape[:-2]) != 1 or mask.op == "param":
        return ""
    values = value_of(mask, MASK_LIMIT)
    if values is None:
        return ""
    seen = values if mask.dtype == "bool" else values == 0
    if mask.dtype != "bool" and not np.all(seen | (values <= MASKED)):
        return ""
    seen = np.broadcast_to(seen.reshape(seen.shape[-2:] if seen.ndim > 1 else seen.shape), (rows, columns))
    if seen.all():
        return "none"
    return "causal" if np.array_equal(seen, np.tri(rows, columns, dtype=bool)) else ""


def _without_mask(root: Node) -> Node | None:
    known = _known_mask(root)
    if not known:
        return None
    return build.make("attention", root.inputs[:3], {**root.attrs, "causal": known == "causal"})


def _heads_shared(k: Node, v: Node, k0: Node, v0: Node) -> bool:
    """Whether k and v repeat each head of k0 and v0."""
    return _repeats_heads(k, k0) and _repeats_heads(v, v0) and k0.shape[:2] == v0.shape[:2]


def _repeats_heads(node: Node, base: Node) -> bool:
    """[B,h,1,S,E] → expand [B,h,g,S,E] → reshape [B,h·g,S,E]."""
    expanded = node.inputs[0].shape
    if len(base.shape) != 5 or len(expanded) != 5 or base.shape[2] != 1:
        return False
    batch, heads, group, length, width = expanded
    return base.shape == (batch, heads, 1, length, width) and node.shape == (batch, heads * group, length, width)


def _share_heads(root: Node, q: Node, k0: Node, v0: Node) -> Node:
    keys, values = (build.reshape(n, (*n.shape[:2], *n.shape[3:])) for n in (k0, v0))
    return build.make("attention", (q, keys, values, *root.inputs[3:]), {**root.attrs, "gqa": True})


def _batch_merged(root: Node, q: Node, k: Node, v: Node) -> bool:
    bases = (q, k, v)
    if root.attrs["gqa"] or any(prod(m.shape[:-2]) != 1 for m in root.inputs[3:]):
        return False
    whole = all(base.shape[-2:] == merged.shape[-2:] for base, merged in zip(bases, root.inputs))
    return whole and len({base.shape[:-2] for base in bases}) == 1 and len(q.shape) > len(root.shape)


def _split_batch(root: Node, q: Node, k: Node, v: Node) -> Node:
    masks = [build.reshape(m, m.shape[-2:]) for m in root.inputs[3:]]
    return build.reshape(build.make("attention", (q, k, v, *masks), root.attrs), root.shape)


def _repeated(name: str) -> Bind:
    return Bind(name, P.reshape(P.expand(PatternVar(f"{name}0"))))


written_out = Rules(
    Rule("softmax(q·kᵀ)·v → attention", P.matmul(Bind("soft", P.softmax(PatternVar("scores"))), v), _attention,
         _attention_when),
)  # fmt: skip

captured = Rules(
    Rule("attention with a triangular mask → causal", P.attention(q, k, v, PatternVar("m"), causal=False),
         _without_mask),
    Rule("attention over repeated heads → shared heads", P.attention(q, _repeated("k"), _repeated("v"), ..., gqa=False),
         _share_heads, _heads_shared),
    Rule("attention of merged batches → reshape of attention",
         P.attention(P.reshape(q), P.reshape(k), P.reshape(v), ...), _split_batch, _batch_merged),
)  # fmt: skip

rules = written_out + captured
