"""What functions remember while a program is made, and forget when it is done.

    @remembered(maxsize=65536)
    def crowding(strides, run, line, level): ...

A result that outlives its compilation lies among the short-lived objects of it, and keeps the whole page of Python's
allocator (a megabyte) from being given back. So every cache of results that depend on a program is made here, and
`forget` empties all of them at once; what depends on the machine alone may stay in a `functools.cache`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class derived(Generic[R]):  # noqa: N801 - a decorator
    """As `functools.cached_property`, which takes a lock for every value that it makes before Python 3.12: nests are
    full of small values. What it is for does not change, so it does no harm if two threads make one at once."""

    def __init__(self, make: Callable[[Any], R]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> derived[R]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> R: ...

    def __get__(self, owner: object, kind: type) -> R | derived[R]:
        if owner is None:
            return self
        made = owner.__dict__[self.name] = self.make(owner)
        return made


_caches: list[functools._lru_cache_wrapper[Any]] = []


def remembered(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As `functools.lru_cache`, until `forget`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = functools.lru_cache(maxsize)(function)
        _caches.append(cached)
        return cached  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Empty all caches. A compilation that goes on in another thread computes anew."""
    for cached in _caches:
        cached.cache_clear()
