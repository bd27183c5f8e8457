"""What operators compute that make elements or move them: constants, views, joining, padding, indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from strop.core.dtypes import is_float
from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Node
from strop.runtime.meanings import means

Tensor = torch.Tensor


@means("constant")
def constant(node: Node, values: Sequence[Any]) -> Tensor:
    return torch.tensor(values, dtype=DTYPES[node.dtype]).reshape(node.shape)


@means("full")
def full(node: Node, value: Any) -> Tensor:
    return torch.full(node.shape, value, dtype=DTYPES[node.dtype])


@means("arange")
def arange(node: Node, start: float, step: float) -> Tensor:
    places = torch.arange(node.shape[0], dtype=torch.float64 if is_float(node.dtype) else torch.int64)
    return (start + step * places).to(DTYPES[node.dtype])


@means("reshape")
def reshape(node: Node, x: Tensor) -> Tensor:
    return x.reshape(node.shape)


@means("permute")
def permute(node: Node, x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.permute(list(dims))


@means("expand")
def expand(node: Node, x: Tensor) -> Tensor:
    return x.expand(node.shape)


@means("slice")
def slice_(node: Node, x: Tensor, dim: int, start: int, step: int) -> Tensor:
    extent = node.shape[dim]
    picked = [slice(None)] * x.dim()
    picked[dim] = slice(start, start + (extent - 1) * step + 1 if extent else start, step)
    return x[tuple(picked)]


@means("select")
def select(node: Node, x: Tensor, dim: int, index: int) -> Tensor:
    return x.select(dim, index)


@means("flip")
def flip(node: Node, x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.flip(list(dims))


@means("diagonal")
def diagonal(node: Node, x: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return x.diagonal(offset, dim1, dim2)


@means("unfold")
def unfold(node: Node, x: Tensor, dim: int, size: int, step: int) -> Tensor:
    return x.unfold(dim, size, step)


@means("cat")
def cat(node: Node, *parts: Tensor, dim: int) -> Tensor:
    return torch.cat(parts, dim)


@means("pad")
def pad(node: Node, x: Tensor, pads: Sequence[tuple[int, int]], mode: str, value: float) -> Tensor:
    """By reading at places: which source element each padded position shows, dimension by dimension."""
    for dim, (before, after) in enumerate(pads):
        extent = x.shape[dim]
        place = torch.arange(-before, extent + after)
        if mode == "constant":
            inside = (place >= 0) & (place < extent)
            source = place.clamp(0, max(extent - 1, 0))
            shape = [-1 if d == dim else 1 for d in range(x.dim())]
            if extent == 0:
                x = torch.full((*x.shape[:dim], len(place), *x.shape[dim + 1 :]), value, dtype=x.dtype)
                continue
            x = torch.where(inside.reshape(shape), x.index_select(dim, source), torch.tensor(value, dtype=x.dtype))
            continue
        if mode == "reflect":
            place = place.abs()
            place = torch.where(place >= extent, 2 * (extent - 1) - place, place)
        elif mode == "replicate":
            place = place.clamp(0, extent - 1)
        elif mode == "circular":
            place = place % extent
        x = x.index_select(dim, place)
    return x


def _indices(x: Tensor, dims: Sequence[int], indices: Sequence[Tensor]) -> list[Tensor | None]:
    places: list[Tensor | None] = [None] * x.dim()
    for dim, index in zip(dims, indices):
        places[dim] = index
    return places


@means("index")
def index(node: Node, x: Tensor, *indices: Tensor, dims: Sequence[int]) -> Tensor:
    return torch.ops.aten.index.Tensor(x, _indices(x, dims, indices))  # type: ignore[no-any-return]


@means("gather")
def gather(node: Node, x: Tensor, places: Tensor, dim: int) -> Tensor:
    extent = x.shape[dim]
    if places.numel() and not bool(((places >= -extent) & (places < extent)).all()):
        raise IndexError(f"index out of range in gather of extent {extent}")
    return x.gather(dim, torch.where(places < 0, places + extent, places))


@means("embedding")
def embedding(node: Node, weight: Tensor, places: Tensor) -> Tensor:
    return weight[places]


@means("index_put")
def index_put(node: Node, x: Tensor, value: Tensor, *indices: Tensor, dims: Sequence[int], accumulate: bool) -> Tensor:
    return torch.ops.aten.index_put.default(x, _indices(x, dims, indices), value, accumulate)  # type: ignore[no-any-return]


@means("scatter")
def scatter(node: Node, x: Tensor, places: Tensor, src: Tensor, dim: int, reduce: str | None) -> Tensor:
    if reduce is None:
        return x.scatter(dim, places, src)
    named = {"add": "sum", "mul": "prod"}.get(reduce, reduce)
    return x.scatter_reduce(dim, places, src, named, include_self=True)


@means("item")
def item(node: Node, results: Sequence[Tensor], index: int) -> Tensor:
    return results[index]
