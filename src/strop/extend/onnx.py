"""ONNX operators of extensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from strop.core.extensions import Extension, described, refused, registry
from strop.frontend.onnx.ops import NEWEST, OLDEST, F, Undecided, Unsupported, add, are_values, covered
from strop.frontend.torch.data_dependent import DATA_DEPENDENT

#: what a function may raise that is no fault of it
_ALLOWED = (Unsupported, Undecided, *DATA_DEPENDENT)


def onnx_operator(
    name: str, function: F | None = None, *, since: int = 1, until: int = NEWEST, version: str = ""
) -> F | Callable[[F], F]:
    """A function for an ONNX operator, `"domain::Op"`, of opsets `since` to `until` of its domain. Without a function,
    a decorator.

    Inputs come by position as torch tensors, None for one that is left out; attributes by keyword, each of which the
    function names after `*`. It returns a tensor, or a tuple with one for each output, and computes with torch
    operators; `raise extend.Unsupported(reason)` says that a form is not covered.
    """
    domain, _, op = name.rpartition("::")
    domain = "" if domain == "ai.onnx" else domain

    def register(function: F) -> F:
        if not op or not callable(function):
            raise refused("ONNX operator", name, "it needs a name, `domain::Op`, and a function")
        first = max(since, OLDEST) if not domain else since
        if first > until:
            raise refused("ONNX operator", name, f"opset {first} comes behind opset {until}")
        extension = described("ONNX operator", name, (function, first, until), version)
        guarded = _guarded(function, extension)
        registry.add(
            extension, lambda: add(domain, op, first, until, guarded), lambda: _owner(domain, op, first, until)
        )
        return function

    return register if function is None else register(function)


def _owner(domain: str, op: str, since: int, until: int) -> str:
    return "Strop" if covered(domain, op, since, until) else ""


def _guarded(function: F, extension: Extension) -> F:
    @functools.wraps(function)
    def guarded(*inputs: Any, **attributes: Any) -> Any:
        with extension.blamed(allowed=_ALLOWED):
            result = function(*inputs, **attributes)
        if not are_values(result):
            raise extension.problem(f"returned {result!r:.60}: it returns a tensor, or a tuple of tensors")
        return result

    return guarded  # type: ignore[return-value]
