"""Frozen dataclasses that are made by the hundred thousand: looked at and changed quickly.

A preview of a session makes and asks a hundred thousand of them. What the standard library does for each of these takes
half as long again: `functools.cached_property` takes a lock before Python 3.12, `dataclasses.replace` asks every field
what it is, and the constructor of a frozen dataclass sets every field through a function call. Those that are made most
often (`loops/ir.py`, `loops/index.py`) have constructors of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
V = TypeVar("V")


class cached_property(Generic[T]):  # noqa: N801 - stands in for the one of functools
    """A property that is computed when it is first looked at. Two threads that look at once may both compute it."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> T | cached_property[T]:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._make(instance)
        return found


def changed(value: V, /, **new: Any) -> V:
    """As `dataclasses.replace`, of a dataclass that does nothing but hold its fields."""
    kind: Any = type(value)
    names = _names(kind)
    if not new.keys() <= names.keys():
        raise TypeError(f"{type(value).__name__} has no {', '.join(new.keys() - names.keys())}")
    made: V = object.__new__(kind)
    held, given = value.__dict__, made.__dict__
    for name in names:
        given[name] = held[name]
    given.update(new)
    return made


@cache
def _names(kind: Any) -> dict[str, None]:
    """The names of its fields, in order."""
    return dict.fromkeys(one.name for one in fields(kind))
