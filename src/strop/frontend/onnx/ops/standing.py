"""What operators make of texts that only a run can bring, as far as it follows from the tensor behind them.

Moving texts moves their positions. Looking them up is done now for every text of their list, and then by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from strop.frontend.onnx.element_types import CARRIERS, to_numpy
from strop.frontend.onnx.ops import Function, Unknown, Unsupported, applied, made, standing_for, tracing
from strop.frontend.onnx.ops.naming import STANDING, ChosenString, Spelt, chosen, spelt

#: operators whose results are elements of their inputs
MOVING = frozenset((
    "Gather", "GatherElements", "GatherND", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice",
    "Expand", "Tile", "Concat", "Split", "ArrayFeatureExtractor",
))  # fmt: skip
#: operators that ask for nothing but the shape
MEASURING = frozenset(("Shape", "Size"))
#: operators on each text by itself that know what to do with a text that they do not name
LOOKUPS = frozenset(("LabelEncoder", "CategoryMapper", "OneHotEncoder"))
#: stands for every text that a model does not name
OTHER = "\ufffftext of no list"


def stands(op: str, value: Any) -> bool:
    """Whether an input of an operator is better taken as the tensor behind it."""
    if isinstance(value, STANDING):
        return op != "Identity"
    return op in MOVING and isinstance(value, np.ndarray) and value.dtype.kind in "OU"


def on_standing(op: str, function: Function, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """An operator's result; `Unknown` where it needs the texts themselves."""
    first = next((value for value in inputs if isinstance(value, STANDING)), None)
    if first is None:
        return _moved(op, function, inputs, attributes)
    if not isinstance(first, ChosenString | Spelt):
        raise Unknown(first.rows, "the map")
    if op in MEASURING:
        return function(_behind(first), **attributes)
    if op in MOVING and all(_alike(first, value) for value in inputs if not _plain(value)):
        moved = applied(op, function, [value if _plain(value) else _behind(value) for value in inputs], attributes)
        return tuple(_again(first, m) for m in moved) if isinstance(moved, tuple) else _again(first, moved)
    if op in LOOKUPS and len(inputs) == 1:
        listed = first if isinstance(first, ChosenString) else _among(first, sorted(set(texts_in(attributes.values()))))
        return _looked_up(listed, function, attributes)
    if op == "Equal":
        return _equal(first, next(value for value in inputs if value is not first))
    raise Unknown(_behind(first), "the text")


def _moved(op: str, function: Function, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Texts that are known are moved as positions too; what moves them may not be."""
    listed = {text: i for i, text in enumerate(dict.fromkeys(texts_in(v for v in inputs if not _plain(v))))}

    def coded(texts: Any) -> Tensor:
        positions = [listed[str(text)] for text in texts.reshape(-1)]
        return made(torch.tensor, positions, dtype=torch.int64).reshape(tuple(texts.shape))

    def read(positions: Tensor) -> Any:
        return chosen(positions, list(listed)) if listed else np.empty(tuple(positions.shape), dtype=object)

    moved = applied(op, function, [value if _plain(value) else coded(value) for value in inputs], attributes)
    return tuple(map(read, moved)) if isinstance(moved, tuple) else read(moved)


def texts_in(values: Any) -> Iterator[str]:
    """Every text of attributes or constants."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            yield from map(str, value.reshape(-1).tolist())
        elif isinstance(value, (list, tuple)):
            yield from texts_in(value)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, Tensor)


def _behind(texts: Any) -> Tensor:
    found = texts.positions if isinstance(texts, ChosenString) else texts.numbers
    assert isinstance(found, Tensor)
    return found


def _again(like: ChosenString | Spelt, tensor: Tensor) -> ChosenString | Spelt:
    return (
        ChosenString(tensor, like.texts, like.open)
        if isinstance(like, ChosenString)
        else Spelt(tensor, like.element_type)
    )


def _alike(a: ChosenString | Spelt, b: Any) -> bool:
    """Whether two values may be put together."""
    if isinstance(a, ChosenString):
        return isinstance(b, ChosenString) and a.texts == b.texts and a.open == b.open
    return isinstance(b, Spelt) and a.element_type == b.element_type


def _looked_up(x: ChosenString, function: Function, attributes: Mapping[str, Any]) -> Any:
    listed = np.empty(len(x.texts), dtype=object)
    listed[:] = x.texts
    try:
        with _aside():
            table = function(listed, **attributes)
    except Unsupported as error:  # a text of the list may still never come
        raise Unknown(x.positions, "the text") from error
    if isinstance(table, Tensor):
        return table[x.positions]
    texts = tuple(dict.fromkeys(map(str, table)))
    return ChosenString(made(torch.tensor, [texts.index(str(text)) for text in table])[x.positions], texts)


@contextmanager
def _aside() -> Iterator[None]:
    """On real tensors, even inside a trace."""
    if not tracing():
        yield
        return
    with _disable_current_modes(), standing_for({}):
        yield


def _among(x: Spelt, texts: Sequence[str]) -> ChosenString:
    """Which of these texts the numbers are spelt as."""
    if x.element_type in CARRIERS:
        raise Unknown(x.numbers, "the text of a number")
    with _aside():
        kind = to_numpy(torch.empty(0, dtype=x.numbers.dtype), x.element_type).dtype
        spellings = {text: number for text in texts if (number := _number(text, kind)) is not None}
    named = tuple(spellings)
    if not named:
        return ChosenString(torch.zeros_like(x.numbers, dtype=torch.int64), (OTHER,), True)
    numbers = made(torch.from_numpy, np.array(list(spellings.values())))
    looked_at = x.numbers.unsqueeze(-1)
    same = looked_at == numbers
    if x.numbers.is_floating_point():
        signs = torch.signbit(looked_at) == torch.signbit(numbers)
        missing = made(torch.isnan, numbers)
        same = torch.logical_or(torch.logical_and(same, signs), torch.logical_and(torch.isnan(looked_at), missing))
    positions = torch.where(same.any(-1), same.to(torch.int64).argmax(-1), len(named))
    return ChosenString(positions, (*named, OTHER), True)


def _number(text: str, kind: np.dtype[Any]) -> Any:
    """The number that is spelt exactly so; None if none is."""
    try:
        number = np.array([text == "True" if kind.kind == "b" else text]).astype(kind)
    except (ValueError, OverflowError):
        return None
    return number[0] if spelt(number)[0] == text else None


def _equal(x: ChosenString | Spelt, other: Any) -> Tensor:
    """With a single text."""
    if not isinstance(other, np.ndarray) or other.size != 1:
        raise Unknown(_behind(x), "the text")
    text = str(other.reshape(-1)[0])
    listed = x if isinstance(x, ChosenString) else _among(x, [text])
    found = listed.texts.index(text) if text in listed.texts else len(listed.texts)
    more = max(other.ndim - listed.positions.dim(), 0)
    return (listed.positions == found).reshape((1,) * more + tuple(listed.positions.shape))
