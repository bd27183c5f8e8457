"""Process-wide caches that tracing fills, brought back to what they held before.

Their entries would lie among the short-lived objects of a compilation, and each keeps a page of Python's allocator (a
megabyte) from being given back.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode


@contextmanager
def without_leftovers() -> Iterator[None]:
    """Entries that are made inside are dropped at the end; whoever needs one again makes it again.

    The results of fake operators (a few hundred small objects for a network), and the lines of every source file that a
    stack trace names (some thousand strings).
    """
    caches: tuple[MutableMapping[Any, Any], ...] = (FakeTensorMode.cache, linecache.cache)
    before = [set(cache) for cache in caches]
    try:
        yield
    finally:
        for cache, kept in zip(caches, before):
            for key in [key for key in list(cache) if key not in kept]:
                cache.pop(key, None)
