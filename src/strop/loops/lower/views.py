"""Views: where an element of the result lives in the input. Nothing moves."""

from __future__ import annotations

from strop.core.extents import UnknownExtent
from strop.graph.ir import Node
from strop.loops.index import ZERO, Index, flatten, unflatten
from strop.loops.lower import view


@view("reshape")
def reshape(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    """Dimension by dimension where the shapes line up, through the flat offset only inside the groups that do not.

    Where symbols do not tell which side of a group is the shorter one, everything that is left is one group.
    """
    source, target = node.inputs[0].shape, node.shape
    if 0 in source:
        return (ZERO,) * len(source)
    result: list[Index] = []
    i = j = 0
    while i < len(source) or j < len(target):
        first_i, first_j = i, j
        left = source[i] if i < len(source) else 1
        right = target[j] if j < len(target) else 1
        i, j = min(i + 1, len(source)), min(j + 1, len(target))
        try:
            while left != right:
                if left < right:
                    left *= source[i]
                    i += 1
                else:
                    right *= target[j]
                    j += 1
        except UnknownExtent:
            i, j = len(source), len(target)
        result += unflatten(flatten(index[first_j:j], target[first_j:j]), source[first_i:i])
    return tuple(result)


@view("permute")
def permute(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    result = [ZERO] * len(index)
    for position, dim in enumerate(node.attrs["dims"]):
        result[dim] = index[position]
    return tuple(result)


@view("expand")
def expand(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    shape = node.inputs[0].shape
    aligned = index[len(index) - len(shape) :]
    return tuple(ZERO if extent == 1 else part for part, extent in zip(aligned, shape))


@view("slice")
def slice_(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    dim = node.attrs["dim"]
    return (*index[:dim], index[dim] * node.attrs["step"] + node.attrs["start"], *index[dim + 1 :])


@view("select")
def select(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    dim = node.attrs["dim"]
    return (*index[:dim], Index(const=node.attrs["index"]), *index[dim:])


@view("flip")
def flip(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    dims = node.attrs["dims"]
    return tuple(part * -1 + (node.shape[i] - 1) if i in dims else part for i, part in enumerate(index))


@view("diagonal")
def diagonal(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    offset, first, second = node.attrs["offset"], node.attrs["dim1"], node.attrs["dim2"]
    along = index[-1]
    rest = iter(index[:-1])
    result = []
    for dim in range(len(node.inputs[0].shape)):
        if dim == first:
            result.append(along + max(-offset, 0))
        elif dim == second:
            result.append(along + max(offset, 0))
        else:
            result.append(next(rest))
    return tuple(result)


@view("unfold")
def unfold(node: Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    dim = node.attrs["dim"]
    inside = index[-1]
    outer = index[:-1]
    return (*outer[:dim], outer[dim] * node.attrs["step"] + inside, *outer[dim + 1 :])
