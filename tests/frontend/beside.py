"""A model beside itself: eager, and compiled through either door, called in turn with the same arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import strop
from strop.core.journal import Journal
from strop.runtime.dynamo import Backend

TOLERANCE = {torch.float64: 1e-10, torch.float16: 5e-3, torch.bfloat16: 3e-2}


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def through_export(
    model: nn.Module, args: Sequence[Any], kwargs: dict[str, Any], **options: Any
) -> tuple[Any, Journal]:
    fast = strop.compile(model, tuple(args), kwargs, **options)
    return fast, fast.journal


def through_dynamo(
    model: nn.Module, args: Sequence[Any], kwargs: dict[str, Any], **options: Any
) -> tuple[Any, Journal]:
    torch._dynamo.reset()
    journal = Journal()
    return torch.compile(model, backend=Backend(strop.Options(**options), journal)), journal


DOORS = {"strop.compile": through_export, "torch.compile": through_dynamo}


@torch.no_grad()
def check(
    door: str, model: nn.Module, *calls: Sequence[Any], kwargs: dict[str, Any] | None = None, **options: Any
) -> Journal:
    """Compile for the first call's arguments, make every call twice, and compare results, arguments and state."""
    kwargs = kwargs or {}
    mine, theirs = copy.deepcopy(model), copy.deepcopy(model)
    fast, journal = DOORS[door](mine, copy.deepcopy(calls[0]), copy.deepcopy(kwargs), **options)
    for args in [call for call in calls for _ in range(2)]:
        got, left = _outcome(fast, args, kwargs)
        wanted, expected = _outcome(theirs, args, kwargs)
        if isinstance(wanted, Exception):
            assert isinstance(got, type(wanted)), f"{got!r} instead of {wanted!r}"
            continue
        agree(got, wanted)
        agree(left, expected)
        agree(dict(mine.state_dict()), dict(theirs.state_dict()))
    return journal


def eager(journal: Journal) -> list[str]:
    """What did not run as compiled code, library calls aside."""
    return [event.message for event in journal.of("fallback") if "runs eager" in event.message]


def _outcome(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    given, named = copy.deepcopy((tuple(args), kwargs))
    torch.manual_seed(0)
    try:
        return function(*given, **named), (given, named)
    except Exception as error:
        return error, None


def agree(got: Any, wanted: Any) -> None:
    """Equal structure, dtypes and shapes; floats within rounding of the largest, NaN and infinities at the same places."""
    if isinstance(got, Exception):
        raise got
    left, right = pytree.tree_flatten(got), pytree.tree_flatten(wanted)
    assert left[1] == right[1]
    for mine, theirs in zip(left[0], right[0]):
        if not isinstance(theirs, Tensor):
            assert type(mine) is type(theirs) and mine == theirs
            continue
        assert mine.dtype == theirs.dtype
        if not (theirs.is_floating_point() or theirs.is_complex()):
            assert mine.shape == theirs.shape and torch.equal(mine, theirs)
            continue
        finite = theirs[theirs.isfinite()].abs()
        bound = TOLERANCE.get(theirs.dtype, 1e-4) * float(finite.max() if finite.numel() else 0)
        torch.testing.assert_close(mine, theirs, rtol=0, atol=bound, equal_nan=True, check_stride=False)
