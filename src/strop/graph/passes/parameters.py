"""Folding into parameters: batch norms, scales, shifts and biases move into the weights of the operator before them.

Nothing is computed here. The new weights are nodes over params (`w·γ/√(σ²+ε)`), so they follow the parameters when
these change; whatever depends on params alone later becomes the parameter program that runs ahead of calls.
"""

from __future__ import annotations

from strop.core.passes import Verdict, no, yes
from strop.core.patterns import Bind, PatternVar
from strop.core.rewrite import Match, Rule, Rules
from strop.graph import build
from strop.graph.integer_valued import is_whole
from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.graph.passes.language import P, channel_vector, number_of, parametric, x


def _affine(bn: Node) -> tuple[Node, Node]:
    """A batch norm as x·scale + shift, each with one element per channel."""
    mean, var, *rest = bn.inputs[1:]
    scale = build.rsqrt(build.add(var, bn.attrs["eps"]))
    if bn.attrs["has_weight"]:
        scale = build.mul(rest.pop(0), scale)
    shift = build.neg(build.mul(mean, scale))
    if bn.attrs["has_bias"]:
        shift = build.sub(rest[0], build.mul(mean, scale))
    return scale, shift


def _scaled_weight(conv: Node, scale: Node) -> Node:
    """The weight of a convolution whose output channel c is multiplied by scale[c]."""
    weight, groups = conv.inputs[1], conv.attrs["groups"]
    ones = (1,) * (len(weight.shape) - 2)
    if not conv.attrs["transposed"]:
        return build.mul(weight, build.reshape(scale, (weight.shape[0], 1, *ones)))
    into, out = weight.shape[0] // groups, weight.shape[1]
    grouped = build.reshape(weight, (groups, into, out, *weight.shape[2:]))
    return build.reshape(build.mul(grouped, build.reshape(scale, (groups, 1, out, *ones))), weight.shape)


def _with(node: Node, weight: Node, bias: Node) -> Node:
    """The same contraction with other weights; it keeps its own name and origin, not those of what it swallowed."""
    return build.make(node.op, (node.inputs[0], weight, bias), node.attrs, like=node)


def _bias(node: Node) -> Node | None:
    return node.inputs[2] if len(node.inputs) == 3 else None


def _folds(match: Match, statistics: tuple[Node, ...], into: Node) -> Verdict:
    """Whether parameters may move into `into`: all of them known ahead, and nobody else sees its result."""
    for node in (*statistics, *into.inputs[1:]):
        if not is_parametric(node):
            return no(f"%{node.name} depends on an input, so it cannot be computed ahead")
        if node.dtype != into.dtype:
            return no(f"%{node.name} is {node.dtype}, the `{into.op}` computes in {into.dtype}")
    return match.alone()


def _fold_batch_norm_when(match: Match) -> Verdict:
    into = match.root.inputs[0]
    if into.op == "linear" and len(into.shape) != 2:
        return no(f"channels are dimension 1 of {into.type}, the linear's features its last")
    return _folds(match, match.root.inputs[1:], into)


def _fold_batch_norm(root: Node) -> Node:
    into = root.inputs[0]
    scale, shift = _affine(root)
    bias = _bias(into)
    if bias is not None:
        shift = build.add(build.mul(bias, scale), shift)
    if into.op == "conv":
        return _with(into, _scaled_weight(into, scale), shift)
    return _with(into, build.mul(into.inputs[1], build.reshape(scale, (into.shape[1], 1))), shift)


def _spread(vector: Node, rank: int, dim: int) -> Node:
    """A vector with one value per channel, shaped to broadcast along `dim`."""
    return build.reshape(vector, (vector.type.size, *(1,) * (rank - dim - 1)))


def _statistics_known(root: Node) -> bool:
    return all(is_parametric(n) and n.dtype == root.dtype for n in root.inputs[1:])


def _scale_and_shift(root: Node) -> Node:
    scale, shift = (_spread(v, len(root.shape), 1) for v in _affine(root))
    return build.add(build.mul(root.inputs[0], scale), shift)


def _channel_dim(node: Node) -> int:
    return 1 if node.op == "conv" else len(node.shape) - 1


def _per_channel(value: Node, into: Node) -> bool:
    """A parameter tensor (not a mere number: that stays a pointwise epilogue) with one value per output channel."""
    dim = _channel_dim(into)
    return (
        is_parametric(value)
        and number_of(value) is None
        and channel_vector(value, len(into.shape), dim, into.shape[dim])
    )


def _channelwise_when(match: Match, into: Node, b: Node) -> Verdict | bool:
    return _per_channel(b, into) and _folds(match, (b,), into)


def _add_bias(into: Node, b: Node) -> Node:
    vector = build.reshape(b, (into.shape[_channel_dim(into)],))
    bias = _bias(into)
    return _with(into, into.inputs[1], vector if bias is None else build.add(bias, vector))


def _scale_when(match: Match, into: Node, b: Node) -> Verdict | bool:
    if is_whole(into.inputs[0]):
        return no("the product of whole numbers is exact, and would not be with scaled weights")
    return _channelwise_when(match, into, b)


def _scale(into: Node, b: Node) -> Node:
    vector = build.reshape(b, (into.shape[_channel_dim(into)],))
    if into.op == "conv":
        weight = _scaled_weight(into, vector)
    else:
        weight = build.mul(into.inputs[1], build.reshape(vector, (into.shape[-1], 1)))
    bias = _bias(into)
    if bias is None:
        return build.make(into.op, (into.inputs[0], weight), into.attrs, like=into)
    return _with(into, weight, build.mul(bias, vector))


def _pad_when(root: Node, pad: Node) -> Verdict | bool:
    if root.attrs["transposed"]:
        return False
    if pad.attrs["mode"] != "constant" or pad.attrs["value"] != 0:
        return no(f"the padding is {pad.attrs['mode']} of {pad.attrs['value']}, a convolution pads with zeros")
    batch_and_channels, space = pad.attrs["pads"][:2], pad.attrs["pads"][2:]
    if any(batch_and_channels[0] + batch_and_channels[1]):
        return no("the batch or the channels are padded")
    if min(min(pair) for pair in space) < 0:
        return no("a negative padding crops")
    return yes()


def _pad_into_conv(root: Node, pad: Node) -> Node:
    pairs = zip(root.attrs["padding"], pad.attrs["pads"][2:])
    padding = tuple((a + before, b + after) for (a, b), (before, after) in pairs)
    return build.make("conv", (pad.inputs[0], *root.inputs[1:]), {**root.attrs, "padding": padding})


contraction = Bind("into", P.op(("conv", "linear"), ...))
matrix = PatternVar("w", lambda node: len(node.shape) == 2 and is_parametric(node))

rules = Rules(
    Rule("batch norm into the weights before it", P.batch_norm(contraction, ...), _fold_batch_norm,
         _fold_batch_norm_when),
    Rule("batch norm → x·scale + shift", P.batch_norm(...), _scale_and_shift, _statistics_known),
    Rule("matmul with a parameter → linear", P.matmul(x, matrix),
         lambda x, w: build.linear(x, build.swap(w)), lambda x: not is_parametric(x)),
    Rule("add of a parameter → bias", P.add(contraction, parametric("b")), _add_bias, _channelwise_when),
    Rule("scale by a parameter → weight", P.mul(contraction, parametric("b")), _scale, _scale_when),
    Rule("zero padding into the convolution", P.conv(Bind("pad", P.pad(x)), ...), _pad_into_conv, _pad_when),
)  # fmt: skip
