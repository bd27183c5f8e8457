"""Images: the values that convolutions and poolings read and write, and what is computed from them point by point.

Native code keeps images channels last. What the halves of a training step hand over to each other is theirs alone, so
images among it can lie that way too: nothing is transposed to be kept, and nothing again to be read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from strop.graph.build import permute
from strop.graph.ir import Graph, Node
from strop.graph.operators import POINTWISE

#: operators that move windows over an image
WINDOWED = frozenset((
    "conv", "conv_weight_grad", "max_pool", "max_pool_indices", "max_pool_backward", "avg_pool", "adaptive_avg_pool",
    "adaptive_max_pool", "upsample_nearest", "upsample_linear",
))  # fmt: skip
RANKS = (4, 5)


def images(graph: Graph) -> frozenset[Node]:
    """The images of a graph: found from its windows on, through pointwise operators and concatenations."""
    found: set[Node] = set()
    stack = [value for node in graph.nodes if node.op in WINDOWED for value in _touched(node)]
    while stack:
        value = stack.pop()
        if value in found or len(value.types) != 1 or len(value.shape) not in RANKS:
            continue
        found.add(value)
        meeting = [node for node in (value, *graph.users[value]) if node.op in POINTWISE or node.op == "cat"]
        for node in meeting:
            stack += [other for other in (node, *node.inputs) if other.shape[2:] == value.shape[2:]]
    return frozenset(value for value in found if _has_an_order(value))


def _touched(node: Node) -> tuple[Node, ...]:
    """What a window moves over or makes; the second input of a convolution is its weight."""
    read = node.inputs[:1] if node.op == "conv" else node.inputs
    return read if node.op == "conv_weight_grad" else (node, *read)


def _has_an_order(value: Node) -> bool:
    """Whether channels first and channels last are two orders."""
    channels, points = value.shape[1], value.type.size // max(value.shape[0] * value.shape[1], 1)
    return channels > 1 and points > 1


def to_channels_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


def from_channels_last(rank: int) -> tuple[int, ...]:
    return (0, rank - 1, *range(1, rank - 1))


def returning_channels_last(graph: Graph, places: Collection[int]) -> Graph:
    """The graph whose outputs at these places are its images channels last."""
    outputs = [
        _turned(value, to_channels_last(len(value.shape))) if place in places else value
        for place, value in enumerate(graph.outputs)
    ]
    return replace(graph, outputs=tuple(outputs))


def taking_channels_last(graph: Graph, places: Collection[int]) -> Graph:
    """The graph whose inputs at these places come channels last."""
    new: dict[Node, Node] = {}
    inputs = list(graph.inputs)
    for place in places:
        given = graph.inputs[place]
        dims = to_channels_last(len(given.shape))
        shape = tuple(given.shape[dim] for dim in dims)
        inputs[place] = replace(given, types=(replace(given.type, shape=shape),))
        new[given] = _turned(inputs[place], from_channels_last(len(dims)))
    return replace(graph.map(new), inputs=tuple(inputs))


def _turned(value: Node, dims: tuple[int, ...]) -> Node:
    made = permute(value, dims)
    return replace(made, attrs={**made.attrs, "image": True}, name=f"{value.name}.turned", origin=value.origin)
