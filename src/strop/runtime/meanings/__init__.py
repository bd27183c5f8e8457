"""The meaning of every operator as a few lines of torch, one file per family.

Slow and plain on purpose: `runtime/reference.py` evaluates graphs with them, for library calls and for tests. Importing
this package registers all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

Meaning = Callable[..., Any]
MEANINGS: dict[str, Meaning] = {}


def means(*ops: str) -> Callable[[Meaning], Meaning]:
    """Register the meaning of one or more operators: it takes the node, its inputs and its attributes."""

    def register(function: Meaning) -> Meaning:
        MEANINGS.update((op, function) for op in ops)
        return function

    return register


for _family in ("pointwise", "movement", "reductions", "contractions", "windows"):
    import_module(f"{__name__}.{_family}")
