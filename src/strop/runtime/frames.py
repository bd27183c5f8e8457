"""Memory of calls: a frame is what one call needs for itself, a pool keeps the frames that no call uses.

Native code runs without the GIL, so that two Python threads may call a program at once: each takes a frame of its own.
"""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from strop.core.runtime_table import NOT_FINITE, OUT_OF_RANGE, TABLE, team_bytes
from strop.driver.artifact import Artifact
from strop.runtime.packed import Packed, allocate, view
from strop.runtime.threads import Pool, in_child, pool

Tensor = torch.Tensor
#: a tensor in the arena or among packed weights: which of them, offset or slot, dtype, shape
Place = tuple[bool, int, str, tuple[int, ...]]
_as_argument: Callable[[int], Any] = ctypes.c_void_p.from_param


class OutOfRange(IndexError, RuntimeError):
    """Eager raises the first for `x[i]` and embeddings, the second for `gather` and `scatter`."""


@dataclass
class BoundTensors:
    """Parameters as of one moment, and what was computed from them."""

    tensors: dict[int, Tensor]  # those that steps read as they are, by their slots
    packed: dict[int, tuple[Tensor, int]]  # memory and address of what was computed, by slots
    made: list[Packed]  # which hold that memory: others of the module may use it, too


class CallFrame:
    """What one call needs for itself: an arena, scratch, the pointer table and the runtime table."""

    def __init__(self, compiled: Artifact, functions: Pool | None, own_arena: bool = True) -> None:
        self.bound: BoundTensors | None = None
        self.arena, self.arena_address = allocate(compiled.arena_bytes if own_arena else 0)
        stride = compiled.scratch_bytes
        self.scratch, scratch_address = allocate(stride * compiled.threads)
        self.slots = array("Q", bytes(8 * max(compiled.slots, 1)))
        self.status = array("q", [0])
        self.crew, crew_address = allocate(team_bytes(compiled.threads))
        self.crew.zero_()
        self.table = (ctypes.c_void_p * TABLE)(
            self.status.buffer_info()[0],
            functions.parallel if functions else None,
            functions.thread_num if functions else None,
            functions.num_threads if functions else None,
            scratch_address,
            compiled.threads,
            stride,
            functions.give_way if functions else None,
            crew_address,
        )
        self.arguments: tuple[Any, ...] = ()
        self.views: dict[Place, Tensor] = {}  # what library steps read

    def bind(self, bound: BoundTensors) -> None:
        """Point to other parameters. The entry's arguments are converted here, once: for each call it takes 0.1 µs."""
        for slot, tensor in bound.tensors.items():
            self.slots[slot] = tensor.data_ptr()
        for slot, (_, address) in bound.packed.items():
            self.slots[slot] = address
        self.arguments = self.with_arena(self.arena_address)
        self.bound = bound
        self.views.clear()

    def run_in(self, arena: Tensor, address: int) -> None:
        """Run in another arena."""
        self.arena, self.arena_address = arena, address
        self.arguments = self.with_arena(address)
        self.views.clear()

    def view(self, place: Place) -> Tensor:
        found = self.views.get(place)
        if found is None:
            assert self.bound is not None
            in_arena, at, dtype, shape = place
            held, address = (self.arena, self.arena_address + at) if in_arena else self.bound.packed[at]
            found = self.views[place] = view(held, address, dtype, shape)
        return found

    def with_arena(self, address: int) -> tuple[Any, ...]:
        """What an entry is called with to run in some arena."""
        return tuple(map(_as_argument, (ctypes.addressof(self.table), address, self.slots.buffer_info()[0])))


class FramePool:
    """What all calls of a program share: the parameters as they are now, and the frames that nobody uses."""

    def __init__(self, compiled: Artifact, functions: Pool | None) -> None:
        self.compiled = compiled
        self.functions = functions
        self.bound: BoundTensors | None = None
        self.frames: list[CallFrame] = []
        _memories.add(self)

    def take(self, bound: BoundTensors) -> CallFrame:
        """A frame for one call, to be given back to `frames`."""
        try:
            frame = self.frames.pop()
        except IndexError:
            frame = CallFrame(self.compiled, self.functions)
        if frame.bound is not bound:
            frame.bind(bound)
        return frame

    def take_without_arena(self) -> CallFrame:
        """A frame that has to be told where to run."""
        try:
            return self.frames.pop()
        except IndexError:
            frame = CallFrame(self.compiled, self.functions, own_arena=False)
            frame.bind(BoundTensors({}, {}, []))
            return frame

    def done(self, frame: CallFrame) -> bool:
        """Give a frame back after a call; an error that it met is raised here. Whether its results may be used: not
        where a nest watched values that are not finite."""
        if not frame.status[0]:
            self.frames.append(frame)
            return True
        status = frame.status.tobytes()
        frame.status[0] = 0
        self.frames.append(frame)
        if status[OUT_OF_RANGE]:
            raise OutOfRange("index out of range in self")
        return not status[NOT_FINITE]


_memories: weakref.WeakSet[FramePool] = weakref.WeakSet()


def _forget_frames() -> None:
    """In a forked process: frames point to functions of a pool that is gone."""
    for memory in _memories:
        memory.functions = memory.functions and pool()
        memory.frames.clear()


in_child(_forget_frames)
