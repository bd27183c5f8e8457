"""Values that are no tensors, though tensors decide them: texts from a list, numbers as texts, numbers under names.

In a trace they stand for the tensor behind them, which the graph computes; torch's trees take them apart, and put
together what the caller gets. What `standing` has no way for has to wait for the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import register_pytree_node

from strop.frontend.onnx.element_types import to_numpy
from strop.frontend.onnx.ops import Unknown, known, onnx, tracing


@dataclass(frozen=True)
class ChosenString:
    """Texts by their positions in a list. If it is `open`, the last one stands for all texts that are not listed."""

    positions: Tensor
    texts: tuple[str, ...]
    open: bool = False


@dataclass(frozen=True)
class Spelt:
    """Numbers of an ONNX element type as texts."""

    numbers: Tensor
    element_type: int


@dataclass(frozen=True)
class Mapped:
    """For every row a map from names to its numbers."""

    rows: Tensor
    names: tuple[Any, ...]


#: what only a run can bring
STANDING = (ChosenString, Spelt, Mapped)


def texts_at(positions: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    listed = np.empty(len(texts), dtype=object)
    listed[:] = texts
    found: np.ndarray[Any, Any] = listed[np.asarray(positions)]
    return found


def maps_of(rows: Any, names: Sequence[Any]) -> list[dict[Any, float]]:
    return [dict(zip(names, row)) for row in rows.tolist()]


def spelt(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers as texts."""
    made = np.empty(numbers.size, dtype=object)
    made[:] = [str(number) for number in numbers.reshape(-1)]
    texts: np.ndarray[Any, Any] = made.reshape(numbers.shape)
    return texts


def _delivered(positions: Any, texts: tuple[str, ...], open: bool) -> np.ndarray[Any, Any]:
    if open:
        raise Unknown(positions, "a text that the model does not name")
    return texts_at(positions, texts)


register_pytree_node(
    ChosenString,
    lambda c: ([c.positions], (c.texts, c.open)),
    lambda leaves, about: _delivered(next(iter(leaves)), *about),
)
register_pytree_node(
    Spelt,
    lambda s: ([s.numbers], s.element_type),
    lambda leaves, kind: spelt(to_numpy(torch.as_tensor(next(iter(leaves))), kind)),
)
register_pytree_node(Mapped, lambda m: ([m.rows], m.names), lambda leaves, names: maps_of(next(iter(leaves)), names))


def chosen(positions: Tensor, texts: Sequence[str]) -> Any:
    """Texts for positions among them."""
    if tracing() and known(positions) is None:
        return ChosenString(positions, tuple(texts))
    return texts_at(known(positions), texts)


@onnx("ZipMap", domain="ai.onnx.ml", since=1)
def zip_map(x: Tensor, *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()) -> Any:
    rows = x.reshape(1, -1) if x.dim() == 1 else x
    names = (*classlabels_int64s, *classlabels_strings)
    if rows.dim() != 2 or rows.shape[1] != len(names):
        raise ValueError(f"{len(names)} names for numbers of shape {list(x.shape)}")
    if tracing() and known(rows) is None:
        return Mapped(rows, names)
    return maps_of(known(rows), names)
