"""Tensors whose memory stays from one training step to the next.

Freshly mapped memory costs a page fault for every 4 KB that is first written: up to a quarter of a training step. A
pool holds the storages that it has handed out, and hands one out again once nobody else holds it. There is no other
notion of lifetime: a retained graph, accumulated gradients, several forwards before a backward and exceptions hold
their tensors, or let them go, like anybody else.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections import deque
from collections.abc import Callable
from sys import getrefcount

import torch
from torch import Tensor
from torch._C._dynamo import guards

#: smaller tensors come from malloc, which keeps their pages
LEAST_BYTES = 64 << 10
#: calls after which a storage that was not handed out again is given up
_IDLE_CALLS = 64
_PAGE = 2 << 20
_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)

#: a new tensor of some shape, strides and dtype; the way of torch's own compiled code takes a third of the usual time
empty: Callable[..., Tensor] = getattr(guards, "_empty_strided_cpu", None) or (
    lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype)
)
#: references to an object that one attribute holds: that one, and the argument of the function that counts
_ALONE = 2
use_count: Callable[[int], int] | None = getattr(torch._C, "_storage_Use_Count", None)


class _Held:
    """A storage, and the number of the call that it was last handed out in."""

    __slots__ = ("call", "storage")

    def __init__(self, storage: torch.UntypedStorage, call: int) -> None:
        self.storage = storage
        self.call = call

    def is_free(self, size: int) -> bool:
        """Whether nobody but the pool holds it, and nobody resized it or moved it to shared memory."""
        if getrefcount(self.storage) > _ALONE:  # tensors hold the memory, others may hold this very object
            return False
        storage = self.storage
        assert use_count is not None
        return use_count(storage._cdata) == 1 and storage.nbytes() == size and not storage.is_shared()


class TensorPool:
    """Storages by size. Several threads may take tensors at once: what one looks at is out of the others' reach."""

    def __init__(self) -> None:
        self.keeps = True  # or else memory goes with the tensor, as eager's does
        self._held: dict[int, deque[_Held]] = {}
        self._calls = 0
        self._sweeping = threading.Lock()

    def empty(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype, size: int) -> Tensor:
        """A tensor of `size` bytes whose contents are undefined."""
        if size < LEAST_BYTES or use_count is None:
            return empty(shape, strides, dtype)
        if not self.keeps:
            return empty((0,), (1,), dtype).set_(_mapped(size), 0, shape, strides)
        held = self._held.setdefault(size, deque())
        one = self._free(held, size) or _Held(_mapped(size), 0)
        made = empty((0,), (1,), dtype).set_(one.storage, 0, shape, strides)
        one.call = self._calls
        held.append(one)
        return made

    def _free(self, held: deque[_Held], size: int) -> _Held | None:
        """A storage that nobody else holds, taken out of the queue: the one that waits longest, as a rule."""
        for _ in range(len(held)):
            try:
                one = held.popleft()
            except IndexError:  # another thread looks at the last of them
                return None
            if one.is_free(size):
                return one
            if one.storage.nbytes() == size:  # or else somebody resized it, and it is theirs now
                held.append(one)
        return None

    def next_call(self) -> None:
        """To be told of every call: what was not needed for a while (another batch size) is given up."""
        self._calls += 1
        if self._calls % _IDLE_CALLS or not self._sweeping.acquire(blocking=False):
            return
        try:
            for size, held in list(self._held.items()):
                for _ in range(len(held)):
                    try:
                        one = held.popleft()
                    except IndexError:
                        break
                    if one.call > self._calls - _IDLE_CALLS or not one.is_free(size):
                        held.append(one)
        finally:
            self._sweeping.release()

    @property
    def bytes(self) -> int:
        """All that it holds, handed out or not."""
        return sum(size * len(held) for size, held in list(self._held.items()))


def _mapped(size: int) -> torch.UntypedStorage:
    """New memory, in huge pages where the system has them to give."""
    storage = torch.empty(size, dtype=torch.uint8).untyped_storage()
    start = -(-storage.data_ptr() // _PAGE) * _PAGE
    whole = (storage.data_ptr() + size - start) // _PAGE * _PAGE
    if whole > 0 and _MADV_HUGEPAGE is not None:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(whole), _MADV_HUGEPAGE)
    return storage
