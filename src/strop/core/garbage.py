"""Memory of Python objects that a compilation leaves behind, given back where it is worth it.

Python's allocator gives pages back a megabyte at a time, once nothing lies in them. What keeps them after a compilation
is what lives on among its short-lived objects, and the lists of freed tuples that the interpreter keeps for reuse, from
which the next ones would be taken: only a full collection empties those.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from strop.core.process_memory import resident_mb

WORTH = 8.0  # MB of growth from which a collection pays
SELDOM = (20_000, 20, 20)  # objects made between two collections; Python's 700 cost a preview a twentieth of its time


@contextmanager
def undisturbed() -> Iterator[None]:
    """Collections inside are fewer, and look at nothing that was there before: with torch loaded that takes them 0.15 s
    each."""
    ours, usual = not gc.get_freeze_count(), gc.get_threshold()
    if ours:
        gc.freeze()
        if usual[0]:  # 0: whoever runs this wants none
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()
            gc.set_threshold(*usual)


@contextmanager
def short_lived() -> Iterator[None]:
    """What is made inside is mostly garbage at the end, and then collected, where the process has grown by it."""
    before = resident_mb()
    with undisturbed():
        yield
        after = resident_mb()
        if before is not None and after is not None and after - before > WORTH:
            gc.collect()
