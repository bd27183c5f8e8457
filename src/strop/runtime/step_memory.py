"""The memory of a training step: blocks that stay from step to step, in which both of its halves run.

Forward takes a block, has its temporaries in it, and leaves in it what it keeps for backward, as tensors with storages
of their own. Backward runs in the same block: its temporaries, packed weights and gradients overwrite what it has read
for the last time. Nobody tells a block that a step is over: it is free once nobody holds a tensor in it, so that
retained graphs, accumulated gradients, several forwards before a backward and exceptions need no rules of their own.

Freshly mapped memory costs a page fault for every 4 KB that is first written, up to a quarter of a training step, which
is why blocks are not given back to the system.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount

import torch
from torch import Tensor

from strop.runtime.packed import allocate
from strop.runtime.tensor_pool import TensorPool, empty, use_count

#: calls after which a block that was not needed again is given up
_IDLE_CALLS = 64
_PAGE = mmap.PAGESIZE
_MADV_DONTNEED: int | None = getattr(mmap, "MADV_DONTNEED", None)
#: references to a storage that a block alone holds: that one, and the argument of the function that counts
_ALONE = 2


class ForwardCall:
    """A call of forward, to be made once more if backward has to be computed again after overwriting what was kept."""

    def __init__(self, kept: Callable[[], Mapping[int, Tensor]], sources: Sequence[Tensor]) -> None:
        self.kept = kept  # by places in the block
        self._versions = [(tensor, tensor._version) for tensor in sources]

    @property
    def repeats(self) -> bool:
        """Whether it would compute the same."""
        return all(tensor._version == version for tensor, version in self._versions)


class StepBlock:
    """Memory of one step, and the storages that were handed out in it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.memory, self.address = allocate(size)
        self.call = 0  # of its last use
        self.observed = False  # hooks saw what forward kept: nobody knows who else reads it
        self.forward: ForwardCall | None = None  # that it was used in
        self._start = self.address - self.memory.data_ptr()
        self._storages: dict[tuple[int, int], torch.UntypedStorage] = {}
        self._trimmed = False

    def tensor(self, at: int, size: int, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
        """A tensor of `size` bytes that lies there; what it holds is what was written there last."""
        storage = self._storages.get((at, size))
        if storage is None or storage.data_ptr() != self.address + at:  # somebody moved it to shared memory
            lies = self.memory.numpy().data[self._start + at : self._start + at + size]
            storage = self._storages[at, size] = torch.frombuffer(lies, dtype=torch.uint8).untyped_storage()
        return empty((0,), (1,), dtype).set_(storage, 0, shape, strides)

    @property
    def is_free(self) -> bool:
        """Whether nobody holds a tensor in it."""
        return not any(map(self._is_held, self._storages))

    def _is_held(self, place: tuple[int, int]) -> bool:
        # no name stands for the storage: whether one counts depends on the version of Python
        assert use_count is not None
        storages = self._storages
        return getrefcount(storages[place]) > _ALONE or use_count(storages[place]._cdata) > 1

    def _held(self) -> list[tuple[int, int]]:
        """The places of tensors that somebody holds."""
        return list(filter(self._is_held, self._storages))

    def holders(self, at: int, size: int) -> int:
        """How many tensors lie at a place."""
        storage = self._storages.get((at, size))
        return 0 if storage is None or use_count is None else use_count(storage._cdata) - 1

    def reuse(self) -> None:
        self.observed, self.forward, self._trimmed = False, None, False

    def trim(self) -> None:
        """Give the pages to the system that no tensor lies in: somebody goes on holding the others."""
        if self._trimmed or _MADV_DONTNEED is None:
            return
        self._trimmed = True
        free = 0
        for at, size in (*sorted(self._held()), (self.size, 0)):
            start, end = -(-(self.address + free) // _PAGE) * _PAGE, (self.address + at) // _PAGE * _PAGE
            if end > start:
                ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)
            free = max(free, at + size)


class StepMemory:
    """What the programs of one training step share: blocks, and a pool for results that are the caller's."""

    def __init__(self) -> None:
        self.tensors = TensorPool()
        self.restores = False  # backward may have to be computed again, from what it overwrites
        self._size = 0
        self._calls = 0
        self._blocks: list[StepBlock] = []
        self._lock = threading.Lock()

    def reserve(self, size: int) -> None:
        """Blocks are large enough for every program of the step."""
        self._size = max(self._size, size)

    def take(self) -> StepBlock:
        """A block that nobody uses, to be given back when tensors in it are made."""
        with self._lock:
            self._calls += 1
            found = self._free()
            for block in self._blocks if found is None else ():
                block.trim()
        if found is None:
            found = StepBlock(self._size)
        found.reuse()
        return found

    def _free(self) -> StepBlock | None:
        """A free block, taken out of the list: the one that was used last. What is too small by now is given up, and
        what was idle for long."""
        if len(self._blocks) == 1 and self._blocks[0].size >= self._size:
            return self._blocks.pop() if self._blocks[0].is_free else None
        found = None
        for block in self._blocks[::-1]:
            if block.size < self._size:
                self._blocks.remove(block)
            elif block.is_free and (found is None or block.call < self._calls - _IDLE_CALLS):
                self._blocks.remove(block)
                found = found or block
        return found

    def take_with(self, kept: Sequence[tuple[Tensor, int, int]]) -> StepBlock | None:
        """The block in which these tensors lie, each at its place and of its size, unless somebody else may still read
        one of them; to be given back."""
        if torch._C._autograd._get_current_graph_task_keep_graph():
            return None
        with self._lock:
            address = kept[0][0].data_ptr() - kept[0][1]
            block = next((one for one in self._blocks if one.address == address), None)
            if block is None or block.size < self._size or block.observed:
                return None
            if self.restores and not (block.forward and block.forward.repeats):
                return None
            for tensor, at, size in kept:
                if tensor.data_ptr() != address + at or block.holders(at, size) != 1:
                    return None
            self._calls += 1
            self._blocks.remove(block)
            return block

    def give_back(self, block: StepBlock) -> None:
        if use_count is None:
            return
        with self._lock:
            block.call = self._calls
            self._blocks.append(block)

    @property
    def bytes(self) -> int:
        """What stays between two steps."""
        return self.tensors.bytes + sum(block.size for block in list(self._blocks))
