"""Reading and writing at places that data says, sorting, and selections of a size that data decides."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, known, made, numbers, onnx, real, scalar

_ACCUMULATE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def wrapped(indices: Tensor, extent: int) -> Tensor:
    """Negative indices count from the end."""
    found = known(indices)
    indices = indices.to(torch.int64)
    if found is not None and (not found.numel() or scalar(made(found.min)) >= 0):
        return indices
    return torch.where(indices < 0, indices + extent, indices)


@onnx("Gather")
def gather(x: Any, indices: Tensor, *, axis: int = 0) -> Any:
    """A known index is a slice, no look-up."""
    if not isinstance(x, Tensor):
        return np.take(x, indices.numpy(), axis)
    axis %= x.dim()
    found = numbers(indices) if indices.numel() == 1 else None
    if found is not None and indices.dim() == 0:
        return x.select(axis, int(found[0]))
    if found is not None:
        place = int(found[0]) + (x.shape[axis] if found[0] < 0 else 0)
        return x.narrow(axis, place, 1).reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    places: list[Tensor | None] = [None] * axis
    return torch.ops.aten.index.Tensor(x, [*places, wrapped(indices, x.shape[axis])])


@onnx("GatherElements")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Where the indices have fewer elements in another dimension, only that corner of x is read."""
    return torch.gather(x, axis, wrapped(indices, x.shape[axis]))


@onnx("GatherND")
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    depth = indices.shape[-1]
    chosen = [wrapped(indices[..., i], x.shape[batch_dims + i]) for i in range(depth)]
    batch = []
    for i in range(batch_dims):
        shape = [1] * (indices.dim() - 1)
        shape[i] = -1
        batch.append(torch.arange(x.shape[i]).reshape(shape))
    found: Tensor = torch.ops.aten.index.Tensor(x, [*batch, *chosen])
    return found


@onnx("ScatterElements")
@onnx("Scatter", until=10)
def scatter_elements(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
    places = wrapped(indices, x.shape[axis])
    if reduction == "none":
        return torch.scatter(x, axis, places, updates)
    return torch.scatter_reduce(x, axis, places, updates, _ACCUMULATE[reduction])


@onnx("ScatterND")
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    depth = indices.shape[-1]
    chosen = [wrapped(indices[..., i], x.shape[i]) for i in range(depth)]
    if reduction in ("none", "add"):
        return torch.index_put(x, tuple(chosen), updates, accumulate=reduction == "add")
    rows = 1
    for extent in x.shape[:depth]:
        rows *= extent
    flat = torch.zeros(indices.shape[:-1], dtype=torch.int64)
    for i, place in enumerate(chosen):
        flat = flat * x.shape[i] + place
    width = x.numel() // max(rows, 1)
    target = x.reshape(rows, width)
    source = updates.reshape(-1, width)
    return torch.scatter_reduce(
        target, 0, flat.reshape(-1, 1).expand(-1, width), source, _ACCUMULATE[reduction]
    ).reshape(x.shape)


@onnx("TensorScatter")
def tensor_scatter(
    past: Tensor, update: Tensor, write_indices: Tensor | None = None, *, axis: int = -2, mode: str = "linear"
) -> Tensor:
    """Write a piece of a cache, for each batch entry where it says."""
    axis %= past.dim()
    steps = torch.arange(update.shape[axis])
    start = torch.zeros(past.shape[0], dtype=torch.int64) if write_indices is None else write_indices.to(torch.int64)
    places = start.reshape(-1, 1) + steps
    if mode == "circular":
        places = torch.remainder(places, past.shape[axis])
    shape = [1] * past.dim()
    shape[0], shape[axis] = places.shape
    return torch.scatter(past, axis, places.reshape(shape).expand(update.shape), update)


@onnx("TopK", until=9)
def top_k_by_attribute(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    return _top(x, k, axis, True)


@onnx("TopK", since=10)
def top_k(x: Tensor, k: Tensor, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Tensor, Tensor]:
    return _top(x, int(scalar(k, "the number of elements")), axis, bool(largest))


def _top(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Of equal elements the first comes first, which torch.topk does not promise."""
    if k == 1 and x.dim() and x.shape[axis] and x.dtype != torch.bool:
        first = x.argmax(axis, keepdim=True) if largest else x.argmin(axis, keepdim=True)
        return (x, torch.zeros_like(first)) if x.shape[axis] == 1 else (x.gather(axis, first), first)
    values, indices = torch.sort(x, stable=True, dim=axis, descending=largest)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


# ---- results of a size that data decides ----


@onnx("NonZero")
def non_zero(x: Tensor) -> Tensor:
    return torch.nonzero(real(x, "the values on which its shape depends")).t().contiguous()


@onnx("Compress")
def compress(x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    chosen = torch.nonzero(real(condition, "the condition")).reshape(-1)
    return x.reshape(-1).index_select(0, chosen) if axis is None else x.index_select(axis, chosen)


@onnx("Unique")
def unique(x: Tensor, *, axis: int | None = None, sorted: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    values_of = real(x, "the values on which its shape depends")
    array = (values_of.to(torch.float32) if x.dtype == torch.bfloat16 else values_of).numpy()
    found: Any = np.unique(array, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    values, first, inverse, counts = found
    if not sorted:
        order = np.argsort(first, kind="stable")
        values = values[order] if axis is None else np.take(values, order, axis)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, inverse, counts = first[order], rank[inverse], counts[order]
    rest = (
        torch.from_numpy(np.ascontiguousarray(part)).to(torch.int64) for part in (first, inverse.reshape(-1), counts)
    )
    return (torch.from_numpy(np.ascontiguousarray(values)).to(x.dtype), *rest)  # type: ignore[return-value]


@onnx("NonMaxSuppression")
def non_max_suppression(
    boxes: Tensor, scores: Tensor, most: Tensor | None = None, overlap: Tensor | None = None,
    threshold: Tensor | None = None, *, center_point_box: int = 0,
) -> Tensor:  # fmt: skip
    """Greedy, best score first; a box is dropped when it overlaps one that was kept by more than the threshold."""
    box, score = real(boxes, "the boxes").to(torch.float32), real(scores, "the scores")
    limit = 0 if most is None else int(scalar(most, "the number of boxes"))
    iou = 0.0 if overlap is None else float(scalar(overlap, "the overlap"))
    least = None if threshold is None else float(scalar(threshold, "the score threshold"))
    if center_point_box:
        x, y, w, h = box.unbind(-1)
        corners = torch.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], -1)
    else:
        first, second = box[..., :2], box[..., 2:]
        corners = torch.cat([torch.minimum(first, second), torch.maximum(first, second)], -1)
    chosen: list[tuple[int, int, int]] = []
    for batch, kind in itertools.product(range(score.shape[0]), range(score.shape[1])):
        kept = _kept(corners[batch], score[batch, kind], limit, iou, least)
        chosen += [(batch, kind, index) for index in kept]
    return torch.tensor(chosen, dtype=torch.int64).reshape(-1, 3)


def _kept(boxes: Tensor, scores: Tensor, limit: int, overlap: float, least: float | None) -> Sequence[int]:
    order = torch.sort(scores, stable=True, descending=True).indices
    if least is not None:
        order = order[scores[order] > least]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best, rest = int(order[0]), order[1:]
        kept.append(best)
        low = torch.maximum(boxes[best, :2], boxes[rest, :2])
        high = torch.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        order = rest[~(shared > overlap * (area[best] + area[rest] - shared))]
    return kept


@onnx("ArrayFeatureExtractor", domain="ai.onnx.ml", since=1)
def array_feature_extractor(x: Tensor, indices: Tensor) -> Tensor:
    if x.dim() == 0:
        raise Unsupported("features of a single number")
    return x.index_select(-1, indices.reshape(-1).to(torch.int64))
