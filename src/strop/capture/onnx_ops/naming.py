"""Results that are no tensors, though tensors decide them: texts that are chosen from a list, numbers under names.

In a trace they stand for the tensor behind them, which the graph computes; torch's trees take them apart, and put
together what the caller gets. Whatever reads their contents within the model has to wait for the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils._pytree import register_pytree_node

from strop.capture.onnx_ops import known, onnx, tracing


@dataclass(frozen=True)
class Chosen:
    """Texts by their positions in a list."""

    positions: Tensor
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Mapped:
    """For every row a map from names to its numbers."""

    rows: Tensor
    names: tuple[Any, ...]


#: what only a run can bring
STANDING = (Chosen, Mapped)


def texts_at(positions: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    listed = np.empty(len(texts), dtype=object)
    listed[:] = texts
    found: np.ndarray[Any, Any] = listed[np.asarray(positions)]
    return found


def maps_of(rows: Any, names: Sequence[Any]) -> list[dict[Any, float]]:
    return [dict(zip(names, row)) for row in rows.tolist()]


register_pytree_node(
    Chosen, lambda c: ([c.positions], c.texts), lambda leaves, texts: texts_at(next(iter(leaves)), texts)
)
register_pytree_node(Mapped, lambda m: ([m.rows], m.names), lambda leaves, names: maps_of(next(iter(leaves)), names))


def chosen(positions: Tensor, texts: Sequence[str]) -> Any:
    """Texts for positions among them."""
    if tracing() and known(positions) is None:
        return Chosen(positions, tuple(texts))
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
