"""LayerNorm and RMSNorm written out by hand.

c = x − mean(x);  c·rsqrt(mean(c²) + ε)·w + b        → layer_norm
x·rsqrt(mean(x²) + ε)·w,  or ·(1 + w)                → rms_norm
"""

from __future__ import annotations

from strop.core.dtypes import is_float
from strop.core.passes import Verdict, no
from strop.core.patterns import Bind, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.language import P, x

dims, eps, correction = PatternVar("dims"), P.number("eps"), PatternVar("correction")
n, w = PatternVar("n"), PatternVar("w")


def _trailing(x: Node, dims: tuple[int, ...]) -> Verdict | bool:
    rank = len(x.shape)
    have = sorted(d % rank for d in dims)
    if have != list(range(rank - len(have), rank)) or not have:
        return no(f"normalised over the dimensions {tuple(have)} of {rank}, not the last ones")
    return is_float(x.dtype)


def _layer_norm_when(match: Match, x: Node, dims: tuple[int, ...], correction: int | None) -> Verdict | bool:
    if correction not in (None, 0):
        return no(f"the variance divides by n − {correction}, a layer norm's by n")
    return _trailing(x, dims) and match.alone()


def _rms_norm_when(match: Match, x: Node, dims: tuple[int, ...]) -> Verdict | bool:
    return _trailing(x, dims) and match.alone()


def _fits(n: Node, w: Node, root: Node) -> bool:
    """Whether `w` holds one factor per normalised element (behind leading extents of 1)."""
    axes, rank = n.attrs["axes"], len(w.shape)
    if root.shape != n.shape or rank < axes:
        return False
    return w.shape[rank - axes :] == n.shape[len(n.shape) - axes :] and all(e == 1 for e in w.shape[: rank - axes])


def _affine_when(match: Match, n: Node, w: Node, root: Node) -> Verdict | bool:
    return _fits(n, w, root) and match.alone()


def _parameter(n: Node, w: Node) -> Node:
    return build.reshape(w, n.shape[len(n.shape) - n.attrs["axes"] :])


def _with_weight(n: Node, w: Node) -> Node:
    attrs = {**n.attrs, "has_weight": True}
    return build.make(n.op, (n.inputs[0], _parameter(n, w)), attrs)


def _with_bias(n: Node, w: Node) -> Node:
    return build.make("layer_norm", (*n.inputs, _parameter(n, w)), {**n.attrs, "has_bias": True})


def _with_offset(n: Node, w: Node) -> Node:
    attrs = {**n.attrs, "has_weight": True, "offset": 1.0}
    return build.make("rms_norm", (n.inputs[0], _parameter(n, w)), attrs)


centred = Bind("c", P.sub(x, P.mean(x, dims=dims, keepdim=True)))
variance = P.either(
    P.mean(P.mul(centred, centred), dims=dims, keepdim=True),
    P.var(x, dims=dims, keepdim=True, correction=correction),
    P.cast(P.var(P.cast(x), dims=dims, keepdim=True, correction=correction)),
)
deviation = P.either(P.sqrt(variance), P.cast(P.sqrt(P.var(P.cast(x), dims=dims, keepdim=True))))
mean_square = P.mean(P.mul(x, x), dims=dims, keepdim=True)

rules = Rules(
    Rule("(x − mean)/√(var + ε) → layer norm", P.either(
             P.mul(centred, P.rsqrt(P.add(variance, eps))),
             P.div(centred, P.sqrt(P.add(variance, eps))),
         ), lambda x, dims, eps: build.layer_norm(x, axes=len(dims), eps=eps), _layer_norm_when),
    Rule("(x − mean)/(√var + ε) → layer norm", P.div(centred, P.add(deviation, eps)), lambda: None,
         lambda: no("ε is added to the standard deviation, a layer norm adds it to the variance")),
    Rule("x/√(mean(x²) + ε) → rms norm", P.either(
             P.mul(x, P.rsqrt(P.add(mean_square, eps))),
             P.div(x, P.sqrt(P.add(mean_square, eps))),
         ), lambda x, dims, eps: build.rms_norm(x, axes=len(dims), eps=eps), _rms_norm_when),
    Rule("norm·(1 + w) → its offset weight",
         P.mul(Bind("n", P.rms_norm(x, has_weight=False)), P.add(w, 1.0)), _with_offset, _affine_when),
    Rule("norm·w → its weight",
         P.mul(Bind("n", P.op(("layer_norm", "rms_norm"), x, has_weight=False)), w), _with_weight, _affine_when),
    Rule("norm + b → its bias",
         P.add(Bind("n", P.layer_norm(x, ..., has_weight=True, has_bias=False)), w), _with_bias, _affine_when),
)  # fmt: skip
