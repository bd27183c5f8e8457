"""Activations and softmax written out by hand, recognised as the one operator that they are."""

from __future__ import annotations

from math import pi, sqrt

from strop.core.dtypes import is_float
from strop.core.passes import Verdict, no
from strop.core.patterns import Bind, Either, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.language import P, x


def _alone(match: Match) -> Verdict | bool:
    return is_float(match.root.dtype) and match.alone()


def _gelu(x: Node, approximate: str) -> Node:
    return build.unary("gelu", x, approximate=approximate)


x_over_root_2 = P.either(P.mul(x, P.about(sqrt(0.5))), P.div(x, P.about(sqrt(2))))
minus_x_over_root_2 = P.either(
    P.neg(x_over_root_2),
    P.mul(x, P.about(-sqrt(0.5))),
    P.div(x, P.about(-sqrt(2))),
    P.mul(P.neg(x), P.about(sqrt(0.5))),
    P.div(P.neg(x), P.about(sqrt(2))),
)


def _cubic(slope: float) -> Either:
    """slope·(x + 0.044715·x³), however it is multiplied out."""
    return P.either(
        P.product(P.about(slope), P.add(x, P.product(P.about(0.044715), x, x, x))),
        P.product(P.about(slope), x, P.add(1.0, P.product(P.about(0.044715), x, x))),
        P.product(x, P.add(P.about(slope), P.product(P.about(slope * 0.044715), x, x))),
        P.add(P.mul(x, P.about(slope)), P.product(P.about(slope * 0.044715), x, x, x)),
    )


clamp_0_6 = P.either(
    P.minimum(P.relu(P.add(x, P.about(3.0))), P.about(6.0)),
    P.relu(P.minimum(P.add(x, P.about(3.0)), P.about(6.0))),
)
exp_plus_1 = P.add(P.exp(P.neg(x)), 1.0)

sigmoids = Rules(
    Rule("1/(1 + exp(-x)) → sigmoid", P.reciprocal(exp_plus_1), lambda x: build.sigmoid(x), _alone),
    Rule("x/(1 + exp(-x)) → silu", P.div(x, exp_plus_1), lambda x: build.unary("silu", x), _alone),
    Rule("x·sigmoid(x) → silu", P.mul(x, P.sigmoid(x)), lambda x: build.unary("silu", x), _alone),
)

gelus = Rules(
    Rule("x·(1 + erf(x/√2))/2 → gelu", P.product(x, 0.5, P.add(P.erf(x_over_root_2), 1.0)),
         lambda x: _gelu(x, "none"), _alone),
    Rule("x·(½ + erf(x/√2)/2) → gelu", P.mul(x, P.add(P.mul(P.erf(x_over_root_2), 0.5), 0.5)),
         lambda x: _gelu(x, "none"), _alone),
    Rule("x·erfc(-x/√2)/2 → gelu", P.product(x, 0.5, P.erfc(minus_x_over_root_2)), lambda x: _gelu(x, "none"), _alone),
    Rule("x·(1 + tanh(√(2/π)(x + 0.044715 x³)))/2 → gelu", P.product(x, 0.5, P.add(P.tanh(_cubic(sqrt(2 / pi))), 1.0)),
         lambda x: _gelu(x, "tanh"), _alone),
    Rule("x·sigmoid(√(8/π)(x + 0.044715 x³)) → gelu", P.mul(x, P.sigmoid(_cubic(sqrt(8 / pi)))),
         lambda x: _gelu(x, "tanh"), _alone),
)  # fmt: skip

hard = Rules(
    Rule("x·clamp(x+3, 0, 6)/6 → hardswish", P.either(
             P.div(P.mul(x, clamp_0_6), P.about(6.0)),
             P.product(x, clamp_0_6, P.about(1 / 6)),
             P.mul(x, P.div(clamp_0_6, P.about(6.0))),
             P.mul(x, P.hardsigmoid(x)),
         ), lambda x: build.unary("hardswish", x), _alone),
    Rule("clamp(x+3, 0, 6)/6 → hardsigmoid",
         P.either(P.div(clamp_0_6, P.about(6.0)), P.mul(clamp_0_6, P.about(1 / 6))),
         lambda x: build.unary("hardsigmoid", x), _alone),
    Rule("x > 0 ? x : c·x → leaky relu",
         P.where(P.either(P.gt(x, 0.0), P.ge(x, 0.0), P.lt(0.0, x)), x, P.mul(x, P.number("c"))),
         lambda x, c: build.unary("leaky_relu", x, slope=c), _alone),
)  # fmt: skip

softplus = P.log1p(P.exp(x))

#: log1p(exp x) overflows where softplus does not, and tanh(∞) = tanh(89) = 1: only inside of tanh they are the same
soft = Rules(
    Rule("x·tanh(log1p(exp x)) → mish", P.mul(x, P.tanh(P.either(softplus, P.softplus(x, beta=1.0)))),
         lambda x: build.unary("mish", x), _alone),
    Rule("x > 20 ? x : log1p(exp x) → softplus", P.where(P.gt(x, P.number("c")), x, softplus),
         lambda x, c: build.unary("softplus", x, beta=1.0, threshold=float(c)), _alone),
)  # fmt: skip


def _one_dimension(match: Match, x: Node, d: tuple[int, ...], e: tuple[int, ...]) -> Verdict | bool:
    rank = len(x.shape)
    if len(d) != 1 or len(e) != 1:
        return no(f"normalised over {len(e)} dimensions, softmax has one")
    if d[0] % rank != e[0] % rank:
        return no(f"the maximum is over dimension {d[0]}, the sum over dimension {e[0]}")
    return match.alone()


shifted = Bind("s", P.sub(x, P.amax(x, dims=PatternVar("d"), keepdim=True)))
exp_shifted = Bind("exp", P.exp(shifted))
sum_shifted = P.sum(exp_shifted, dims=PatternVar("e"), keepdim=True)
exp_plain = Bind("exp", P.exp(x))
sum_plain = P.sum(exp_plain, dims=PatternVar("e"), keepdim=True)

softmaxes = Rules(
    Rule("exp(x − max)/sum → softmax",
         P.either(P.div(exp_shifted, sum_shifted), P.mul(exp_shifted, P.reciprocal(sum_shifted))),
         lambda x, e: build.softmax(x, e[0]), _one_dimension),
    Rule("x − max − log(sum(exp)) → log softmax", P.sub(shifted, P.log(sum_shifted)),
         lambda x, e: build.make("log_softmax", (x,), {"dim": e[0] % len(x.shape)}), _one_dimension),
    Rule("exp(x)/sum → softmax", P.div(exp_plain, sum_plain), lambda x, e: build.softmax(x, e[0]),
         lambda: no("the maximum is not subtracted, so exp overflows where softmax does not")),
)  # fmt: skip

rules = sigmoids + gelus + hard + soft + softmaxes
