"""Operators that are one matrix product, rows times weights: `linear` and 1×1 convolutions, whose rows are pixels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, index_of


@dataclass(frozen=True)
class Sizes:
    """A matrix product: rows of the input, what is summed up, columns of the result."""

    rows: int
    depth: int
    columns: int
    flat: bool  # rows are one dimension, so that those that fill up the last strip are cheap to leave out


def sizes_of(node: Node) -> Sizes:
    columns, depth = node.inputs[1].shape[:2]
    outer = (node.shape[0], *node.shape[2:]) if node.op == "conv" else node.shape[:-1]
    return Sizes(prod(outer), depth, columns, sum(extent > 1 for extent in outer) < 2)


def is_product(node: Node) -> Verdict:
    """Whether an operator is a matrix product of floats, and why not."""
    if node.op == "conv":
        attrs, taps = node.attrs, prod(node.inputs[1].shape[2:])
        plain = not attrs["transposed"] and attrs["groups"] == 1 and taps == 1
        if not plain or any(map(any, attrs["padding"])):
            return no(
                "a convolution is a matrix product with 1×1 taps, without groups, zeros around it or transposition"
            )
    elif node.op != "linear":
        return no("`linear` and 1×1 convolutions are matrix products")
    if node.dtype not in ("f32", "f64"):
        return no(f"other algorithms compute with f32 and f64, not {node.dtype}")
    return yes()


def row_place(node: Node, row: Index, channel: Index, read: bool = False) -> tuple[Index, ...]:
    """Where an element of a row lies in the result of a matrix product, or in its input."""
    shape = node.shape
    outer = (shape[0], *shape[2:]) if node.op == "conv" else shape[:-1]
    found = [index_of(0) for _ in outer]
    several = [i for i, extent in enumerate(outer) if extent > 1]
    for i in reversed(several[1:]):
        found[i], row = row % outer[i], row // outer[i]
    if several:
        found[several[0]] = row
    if node.op != "conv":
        return *found, channel
    batch, *space = found
    steps = node.attrs["stride"] if read else (1,) * len(space)
    return batch, channel, *(at * step for at, step in zip(space, steps))
