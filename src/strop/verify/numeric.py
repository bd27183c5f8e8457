"""Numeric comparison: how far outputs are from eager's, relative to their scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from strop.core.passes import Verdict, no, yes
from strop.core.problem import Problem

Leaf = tuple[str, "np.ndarray[Any, Any]"]


def arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """The tensors, arrays and numbers of a nested output, in order, as NumPy arrays."""
    return [array for _, array in _leaves(value, "output")]


def held_arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """The same in the dtypes and the memory that the outputs have, where NumPy knows the dtype."""
    return [array for _, array in _held(value, "output")]


def max_rel_error(actual: Any, expected: Any) -> float:
    """The largest |actual − expected| / max|expected| over all outputs.

    Each output is measured against its own scale. Infinite when the structures, shapes or non-finite values differ: a
    NaN or an infinity has to stand exactly where eager has it.
    """
    found = list(_leaves(actual, "output"))
    wanted = list(_leaves(expected, "output"))
    if len(found) != len(wanted):
        return float("inf")
    errors = (_error(a, b) for (_, a), (_, b) in zip(found, wanted, strict=True))
    return max(errors, default=0.0)


def close(actual: Any, expected: Any, *, tolerance: float = 1e-4) -> Verdict:
    """Whether every output is within `tolerance` of its scale; a refusal names the first that is not."""
    found = list(_leaves(actual, "output"))
    wanted = list(_leaves(expected, "output"))
    if len(found) != len(wanted):
        return no(f"{len(found)} outputs where {len(wanted)} are expected")
    for (_, a), (name, b) in zip(found, wanted, strict=True):
        if a.shape != b.shape:
            return no(f"shape {a.shape} where {b.shape} is expected", name)
        if (error := _error(a, b)) > tolerance:
            return no(f"off by {error:.2g} of its scale, more than {tolerance:.0e}", name)
    return yes(f"{len(wanted)} outputs agree")


def require_close(actual: Any, expected: Any, *, tolerance: float = 1e-4) -> None:
    """Raise the Problem STR601 where `close` refuses."""
    verdict = close(actual, expected, tolerance=tolerance)
    if not verdict:
        raise Problem("STR601", f"the outputs differ from eager: {verdict.why}", where=verdict.where)


def _error(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    if actual.shape != expected.shape:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind not in "fc":
        return _scaled(np.abs(_wide(actual) - _wide(expected)), np.abs(_wide(expected)))
    finite = np.isfinite(expected)
    if not np.array_equal(np.isfinite(actual), finite):
        return float("inf")
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return float("inf")
    return _scaled(np.abs(actual[finite] - expected[finite]), np.abs(expected[finite]))


def _scaled(difference: np.ndarray[Any, Any], magnitude: np.ndarray[Any, Any]) -> float:
    largest = float(difference.max(initial=0))
    scale = float(magnitude.max(initial=0))
    return largest / scale if scale else largest


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _leaves(value: Any, name: str) -> Iterator[Leaf]:
    for place, array in _held(value, name):
        yield place, array.astype(np.float64) if array.dtype.kind == "f" else array


def _held(value: Any, name: str) -> Iterator[Leaf]:
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _held(item, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _held(item, f"{name}[{index}]")
    elif hasattr(value, "detach"):
        tensor = value.detach().cpu()
        array = (tensor.to_dense() if tensor.is_sparse else tensor).resolve_conj().resolve_neg()
        short = array.is_floating_point() and array.element_size() < 4  # NumPy has no bfloat16 and no float8
        yield name, array.double().numpy() if short else array.numpy()
    else:
        yield name, np.asarray(value)
