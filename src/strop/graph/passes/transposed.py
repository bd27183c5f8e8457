"""Transposed convolutions that are something plainer in disguise.

    y[o] = Σ x[o + before - k·dilation]·w[k]      → Σ x[o + k·dilation - ((K-1)·dilation - before)]·w[K-1-k]
    of a single pixel                             → a linear layer with a result for every tap

At stride 1 the filter only stands on its head; where the image is one pixel, every tap reaches one output.
"""

from __future__ import annotations

from math import prod

from strop.core.passes import Verdict, no, yes
from strop.core.rewrite import Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.graph.passes.language import P


def _reach(conv: Node) -> list[int]:
    """How far a filter reaches along each dimension of space."""
    return [(size - 1) * d for size, d in zip(conv.inputs[1].shape[2:], conv.attrs["dilation"])]


def _at_stride_one(root: Node) -> Verdict | bool:
    if not root.attrs["transposed"] or set(root.attrs["stride"]) != {1}:
        return False
    if not is_parametric(root.inputs[1]):
        return no("the weight depends on an input: it would be turned around at every call")
    if any(amount > reach for reach, both in zip(_reach(root), root.attrs["padding"]) for amount in both):
        return no("the result is cut off beyond what a filter reaches")
    return yes()


def _plain(root: Node) -> Node:
    x, weight, *bias = root.inputs
    groups = root.attrs["groups"]
    into, out = weight.shape[0] // groups, weight.shape[1]
    space = weight.shape[2:]
    grouped = build.reshape(weight, (groups, into, out, *space))
    swapped = build.permute(grouped, (0, 2, 1, *range(3, 3 + len(space))))
    upright = build.reshape(swapped, (groups * out, into, *space))
    flipped = build.make("flip", (upright,), {"dims": tuple(range(2, 2 + len(space)))})
    pads = tuple(
        (reach - before, result - extent + before)
        for reach, (before, _), extent, result in zip(_reach(root), root.attrs["padding"], x.shape[2:], root.shape[2:])
    )
    ones = (1,) * len(space)
    attrs = {**root.attrs, "transposed": False, "padding": pads, "output_padding": tuple(0 for _ in ones)}
    return build.make("conv", (x, flipped, *bias), attrs, like=root)


def _of_one_pixel(root: Node) -> Verdict | bool:
    x, weight = root.inputs[:2]
    if not root.attrs["transposed"] or any(extent != 1 for extent in x.shape[2:]) or root.attrs["groups"] != 1:
        return False
    if root.shape[2:] != weight.shape[2:] or any(amount for both in root.attrs["padding"] for amount in both):
        return no("not every tap reaches one output, or outputs are added around them")
    return yes() if is_parametric(weight) else no("the weight depends on an input")


def _linear(root: Node) -> Node:
    x, weight, *bias = root.inputs
    count = prod(weight.shape[1:])
    flat = build.permute(build.reshape(weight, (weight.shape[0], count)), (1, 0))
    spread = [
        build.reshape(build.expand(build.reshape(b, (*b.shape, 1)), (*b.shape, prod(weight.shape[2:]))), (count,))
        for b in bias
    ]
    product = build.make("linear", (build.reshape(x, x.shape[:2]), flat, *spread), like=root)
    return build.reshape(product, root.shape)


rules = Rules(
    Rule("transposed convolution of one pixel → linear", P.conv(...), _linear, _of_one_pixel),
    Rule("transposed convolution at stride 1 → convolution", P.conv(...), _plain, _at_stride_one),
)
