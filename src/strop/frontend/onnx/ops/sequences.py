"""Sequences are lists of tensors, optionals are values or None; both exist only while a model is captured."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strop.frontend.onnx.ops import Subgraph, ints, made, onnx, scalar

Sequence = list[Any]


@onnx("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Sequence:
    return []


@onnx("SequenceConstruct")
def sequence_construct(*inputs: Tensor) -> Sequence:
    return list(inputs)


@onnx("SequenceInsert")
def sequence_insert(sequence: Sequence, value: Tensor, position: Tensor | None = None) -> Sequence:
    place = len(sequence) if position is None else int(scalar(position, "the position"))
    place = place + len(sequence) if place < 0 else place
    return [*sequence[:place], value, *sequence[place:]]


@onnx("SequenceErase")
def sequence_erase(sequence: Sequence, position: Tensor | None = None) -> Sequence:
    place = len(sequence) - 1 if position is None else int(scalar(position, "the position")) % len(sequence)
    return [*sequence[:place], *sequence[place + 1 :]]


@onnx("SequenceAt")
def sequence_at(sequence: Sequence, position: Tensor) -> Any:
    return sequence[int(scalar(position, "the position"))]


@onnx("SequenceLength")
def sequence_length(sequence: Sequence) -> Tensor:
    return made(torch.tensor, len(sequence), dtype=torch.int64)


@onnx("ConcatFromSequence")
def concat_from_sequence(sequence: Sequence, *, axis: int, new_axis: int = 0) -> Tensor:
    return torch.stack(sequence, axis) if new_axis else torch.cat(sequence, axis)


@onnx("SplitToSequence")
def split_to_sequence(x: Tensor, split: Tensor | None = None, *, axis: int = 0, keepdims: int = 1) -> Sequence:
    if split is None:
        parts = torch.split(x, 1, axis)
        return [part if keepdims else part.squeeze(axis) for part in parts]
    if split.dim() == 0:
        return list(torch.split(x, int(scalar(split, "the sizes")), axis))
    return list(torch.split(x, ints(split, "the sizes"), axis))


@onnx("SequenceMap")
def sequence_map(sequence: Sequence, *more: Any, body: Subgraph) -> tuple[Sequence, ...]:
    """The body for each element; tensors beside the sequence are the same for all."""
    rows = []
    for i, item in enumerate(sequence):
        rows.append(body(item, *(other[i] if isinstance(other, list) else other for other in more)))
    return tuple([row[k] for row in rows] for k in range(len(body.outputs)))


@onnx("Optional")
def optional(value: Any = None, *, type: Any = None) -> Any:
    return value


@onnx("OptionalHasElement")
def optional_has_element(value: Any = None) -> Tensor:
    return made(torch.tensor, value is not None)


@onnx("OptionalGetElement")
def optional_get_element(value: Any) -> Any:
    if value is None:
        raise ValueError("the optional is empty")
    return value
