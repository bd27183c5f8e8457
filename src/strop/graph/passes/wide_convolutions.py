"""Convolutions of small images with large weights, some output channels at a time.

A training step packs its weights in every step. Where a weight is far larger than the images, its packed copy (for
Winograd's algorithm 16 ninths of it) is what the step's memory peaks with, and goes through memory twice. In parts, one
copy takes the place of the other. The results of the parts are put together by a copy, which is small beside them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from strop.graph import build
from strop.graph.ir import Graph, Node

#: bytes of weight for one of image, from which copying the image is nothing beside the weight
MUCH_LARGER = 16
#: channels of a part, of which it has a multiple: whole vectors of any target, two at a time
_CHANNELS = 32


def in_parts(graph: Graph, weights: Collection[Node], largest: int) -> Graph:
    """The graph in which such convolutions with some of its inputs read `largest` bytes of weights at a time, or more
    where channels cannot be divided further."""
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        now = node.with_inputs(tuple(made[used] for used in node.inputs))
        parts = _parts(now, largest) if now.op == "conv" and now.inputs[1] in weights else 1
        made[node] = _divided(now, parts) if parts > 1 else now
    return replace(graph.with_roots([made[root] for root in graph.roots]), handover=graph.handover)


def _parts(node: Node, largest: int) -> int:
    weight = node.inputs[1].type
    image = max(node.type.bytes, node.inputs[0].type.bytes)
    if node.attrs["groups"] != 1 or weight.bytes < MUCH_LARGER * image:
        return 1
    parts, channels = 1, node.shape[1]
    while weight.bytes > parts * largest and channels % (2 * parts * _CHANNELS) == 0:
        parts *= 2
    return parts


def _divided(node: Node, parts: int) -> Node:
    """The same convolution, its output channels in parts that follow each other."""
    image, weight, *bias = node.inputs
    along = 1 if node.attrs["transposed"] else 0
    step = node.shape[1] // parts
    made = []
    for part in range(parts):
        first, last = part * step, (part + 1) * step
        filters = _named(build.slice(weight, along, first, last), node, f"{part}.weight")
        added = [_named(build.slice(one, 0, first, last), node, f"{part}.bias") for one in bias]
        made.append(_named(build.make("conv", (image, filters, *added), node.attrs), node, str(part)))
    return _named(build.cat(made, 1), node)


def _named(made: Node, like: Node, part: str = "") -> Node:
    about: dict[str, Any] = {"origin": like.origin, "absorbed": like.absorbed}
    return replace(made, name=f"{like.name}.{part}" if part else like.name, **about)
