"""What is built of each package: a name, how to make the model, and its inputs in two shapes.

The tables are in `cases_*.py`, one function per package, found by the package's import name. Constructors are named by
texts (`module:Class`), so that a tree is imported only when its cases are made.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

Inputs = Callable[[int], Any]  #: variant 0 or 1 → a tuple or a dict for `forward`


@dataclass(frozen=True)
class Case:
    make: Callable[[], nn.Module]
    inputs: Inputs
    eval_gradients: bool = True  #: reversible networks have gradients in training only


Cases = dict[str, Case]


def cases_of(package: str) -> Cases:
    for name in ("cases_vit", "cases_vision", "cases_sequences", "cases_signals", "cases_zoo"):
        table = importlib.import_module(name)
        if hasattr(table, package):
            return getattr(table, package)()  # type: ignore[no-any-return]
    raise SystemExit(f"no cases for {package}: add a function of that name to cases_*.py")


def in_training_only(cases: Cases) -> Cases:
    return {name: replace(one, eval_gradients=False) for name, one in cases.items()}


def found(path: str) -> Any:
    """`module:attribute` of the tree that is first on the path."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def case(path: str, inputs: Inputs, **given: Any) -> Case:
    return Case(lambda: found(path)(**given), inputs)


def fitting(path: str, base: dict[str, Any], inputs: Inputs, **given: Any) -> Case:
    """A constructor with those of the usual arguments that it takes, and its own."""

    def make() -> nn.Module:
        kind = found(path)
        known = inspect.signature(kind).parameters
        return kind(**{**{k: v for k, v in base.items() if k in known}, **given})  # type: ignore[no-any-return]

    return Case(make, inputs)


# ---- inputs ----------------------------------------------------------------------------------------------------------


def images(*shape: int, other: tuple[int, ...] | None = None) -> Inputs:
    """Batches of 2 and of 3; the second of another size where the model takes one."""
    return lambda variant: (torch.randn(3 if variant else 2, *(other if variant and other else shape)),)


def series(length: int, width: int, other: int = 0) -> Inputs:
    return images(length, width, other=(other or length, width))


def tokens(count: int, length: int, other: int = 0) -> Inputs:
    """Numbers below `count`; the second batch has another length."""

    def make(variant: int) -> Any:
        return (torch.randint(0, count, (3 if variant else 2, (other or length) if variant else length)),)

    return make


def both(*parts: Inputs) -> Inputs:
    """The inputs of several makers, one after the other."""
    return lambda variant: tuple(one for part in parts for one in part(variant))


def named(**parts: Inputs) -> Inputs:
    return lambda variant: {name: part(variant)[0] for name, part in parts.items()}


def fixed(*values: Any) -> Inputs:
    return lambda variant: values


def numbers(high: int, *shape: int) -> Inputs:
    """Integers of a batch: steps of a diffusion, classes."""
    return lambda variant: (torch.randint(0, high, (3 if variant else 2, *shape)),)
