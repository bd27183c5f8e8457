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


@contextmanager
def undisturbed() -> Iterator[None]:
    """No collections inside, a tenth of the time that a training step takes to compile and a twentieth of a preview's:
    what a compilation makes goes without them, but for a few circles. One that is asked for looks at nothing that was
    there before, which with torch loaded takes 0.15 s."""
    ours, collects = not gc.get_freeze_count(), gc.isenabled()
    gc.disable()
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()
        if collects:
            gc.enable()


@contextmanager
def short_lived() -> Iterator[None]:
    """What is made inside is mostly garbage at the end, and then collected, where the process has grown by it."""
    before = resident_mb()
    with undisturbed():
        yield
        after = resident_mb()
        if before is not None and after is not None and after - before > WORTH:
            gc.collect()
