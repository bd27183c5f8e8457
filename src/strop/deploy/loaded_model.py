"""A model file that runs: NumPy arrays in, NumPy arrays out, with neither PyTorch nor LLVM.

    model = strop.load("model.strop")      # parses and maps; executes nothing of the file
    y = model(x)                           # runs its code: an act of trust in whoever made the file

Weights stay in the file's pages, which all processes that load it share. Calls may come from several Python threads at
once, each with memory of its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from strop.core.problem import Problem
from strop.core.runtime_table import (
    NOT_FINITE,
    OUT_OF_RANGE,
    POOL_BYTES,
    POOL_SYSCALL,
    POOL_WORKERS,
    TABLE,
    team_bytes,
)
from strop.deploy.cpu_features import choose
from strop.deploy.model_file import ModelTables, StoredProgram, TensorInfo, Variant, not_a_model, read_about, unpack

Array = np.ndarray[Any, np.dtype[Any]]
_NUMPY = {
    "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_, "u8": np.uint8,
    "i8": np.int8,
}  # fmt: skip
_ALIGNMENT = 64
_HUGE_PAGE = 2 << 20
_READ, _WRITE, _EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
_FIXED = 0x10
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_models: weakref.WeakSet[LoadedModel] = weakref.WeakSet()


def load(path: str | os.PathLike[str], *, verify: bool = False) -> LoadedModel:
    """The model of a file, ready to be called. Features of this CPU are checked first; code runs when it is called.

    `verify` also compares every weight with its checksum, which reads the whole file.
    """
    return LoadedModel(Path(path), verify)


class LoadedModel:
    """A model file whose best variant for this machine is mapped."""

    def __init__(self, path: Path, verify: bool) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if not size:
                    raise not_a_model("it is empty")
                self._file = mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE, prot=_READ)
                self.tables: ModelTables = unpack(self._file, size)
                self.variant: Variant = choose(self.tables.variants)
                self._bytes = np.frombuffer(self._file, np.uint8)
                if verify:
                    _verify(self._file, self.variant)
                self._programs = [
                    _Program(one, self.variant, file.fileno(), self._bytes) for one in self.variant.programs
                ]
        except OSError as error:
            raise Problem("STR507", f"the model file cannot be read: {error}", where=str(path)) from error
        self._order = {one.name: i for i, one in enumerate(self.inputs)}
        _models.add(self)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return self.tables.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return self.tables.outputs

    @property
    def about(self) -> dict[str, Any]:
        """What the file tells of itself: the model's name, who made it, the plan of each variant."""
        return read_about(self.tables, self._file)

    def __call__(self, *given: Any, **named: Any) -> Array | tuple[Array, ...]:
        """Run the model on arrays (or anything that NumPy takes for one), by position or by name."""
        arrays = self._arrays(given, named)
        results = [_empty(one) for one in self.outputs]
        addresses = [array.ctypes.data for array in (*arrays, *results)]
        if not self._programs[0].run(addresses) and len(self._programs) > 1:
            self._programs[1].run(addresses)
        return results[0] if len(results) == 1 else tuple(results)

    def _arrays(self, given: Sequence[Any], named: dict[str, Any]) -> list[Array]:
        values: list[Any] = [*given, *[None] * (len(self.inputs) - len(given))]
        for name, value in named.items():
            if name not in self._order:
                raise self._wrong(f"there is no input `{name}`")
            values[self._order[name]] = value
        if len(values) != len(self.inputs) or any(value is None for value in values):
            raise self._wrong(f"{len(given) + len(named)} inputs were given")
        return [self._checked(info, value) for info, value in zip(self.inputs, values)]

    def _checked(self, info: TensorInfo, value: Any) -> Array:
        array = np.asarray(value)
        if array.dtype != _NUMPY[info.dtype] or array.shape != info.shape:
            raise self._wrong(f"`{info.name}` has type {array.dtype} and shape {list(array.shape)}")
        return np.ascontiguousarray(array)

    def _wrong(self, why: str) -> Problem:
        return Problem("STR001", f"{why}; the model takes {', '.join(map(str, self.inputs)) or 'nothing'}")

    def forget_workers(self) -> None:
        """In a forked process, which has none of the threads: calls run on one thread."""
        for program in self._programs:
            program.forget_workers()


class _Program:
    """One program of the file: its code, and frames for calls."""

    def __init__(self, stored: StoredProgram, variant: Variant, file: int, held: Array) -> None:
        self.stored, self.threads = stored, variant.threads
        crc = zlib.crc32(held.data[stored.image : stored.image + stored.image_bytes])
        if crc != stored.image_crc:
            raise not_a_model("its code is damaged (checksum)")
        base, size = _mapped_code(stored, file)
        self._base = base
        self._entry = _ENTRY(base + stored.entry)
        self._weights = [(one.slot, held.ctypes.data + one.offset) for one in stored.weights]
        self._held = held
        self._slots = (*stored.inputs, *stored.outputs)
        self._frames: list[_Frame] = []
        self._lock = threading.Lock()
        self.pool = _Workers(stored, base, variant.threads) if stored.worker else None
        self._release = weakref.finalize(self, _unmap, base, size, self.pool)

    def run(self, addresses: Sequence[int]) -> bool:
        """Whether the results may be used; not where a nest watched values that are not finite."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._new_frame()
        for slot, address in zip(self._slots, addresses):
            frame.slots[slot] = address
        self._entry(frame.table_address, frame.arena_address, frame.slots_address)
        status = frame.status.value
        frame.status.value = 0
        self._frames.append(frame)
        if status >> (8 * OUT_OF_RANGE) & 1:
            raise IndexError("an index is out of range")
        return not status >> (8 * NOT_FINITE) & 1

    def _new_frame(self) -> _Frame:
        with self._lock:
            if self.pool is not None:
                self.pool.start()
        return _Frame(self.stored, self.threads, self._weights, self.pool.address if self.pool else 0)

    def forget_workers(self) -> None:
        self._lock = threading.Lock()
        if self.pool is not None:
            self.pool.forget()


class _Frame:
    """What one call needs for itself."""

    def __init__(self, stored: StoredProgram, threads: int, weights: Sequence[tuple[int, int]], pool: int) -> None:
        self.slots = (ctypes.c_uint64 * stored.slots)()
        for slot, address in weights:
            self.slots[slot] = address
        self.status = ctypes.c_int64(0)
        self._memory = [
            _block(size) for size in (stored.arena_bytes, stored.scratch_bytes * threads, team_bytes(threads))
        ]
        arena, scratch, crew = (address for _, address in self._memory)
        give_way = _address("sched_yield")
        status = ctypes.addressof(self.status)
        self.table = (ctypes.c_uint64 * TABLE)(
            status, pool, 0, 0, scratch, threads, stored.scratch_bytes, give_way, crew
        )
        self.table_address, self.slots_address = ctypes.addressof(self.table), ctypes.addressof(self.slots)
        self.arena_address = arena


class _Workers:
    """The threads of a program: started by its first call."""

    def __init__(self, stored: StoredProgram, base: int, threads: int) -> None:
        self._memory, self.address = _block(POOL_BYTES)
        self._words = (ctypes.c_uint64 * (POOL_BYTES // 8)).from_address(self.address)
        self._words[POOL_SYSCALL] = _address("syscall")
        self._worker, self._end = base + stored.worker, base + stored.end_workers
        self._wanted = threads - 1
        self._started: list[ctypes.c_ulong] = []

    def start(self) -> None:
        create = ctypes.CDLL(None).pthread_create
        create.argtypes = [ctypes.c_void_p] * 4
        while self._wanted > 0:
            self._wanted -= 1
            thread = ctypes.c_ulong()
            if create(ctypes.addressof(thread), None, self._worker, self.address):
                self._wanted = 0  # the machine gives no more threads: fewer share the work
                break
            self._started.append(thread)
            self._words[POOL_WORKERS] = len(self._started)

    def forget(self) -> None:
        self._words[POOL_WORKERS] = self._wanted = 0
        self._started.clear()

    def end(self) -> None:
        if not self._started:
            return
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._end)(self.address)
        join = ctypes.CDLL(None).pthread_join
        join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
        for thread in self._started:
            join(thread, None)
        self._started.clear()


def _verify(file: mmap.mmap, variant: Variant) -> None:
    view = memoryview(file)
    for program in variant.programs:
        for weight in program.weights:
            if zlib.crc32(view[weight.offset : weight.offset + weight.bytes]) != weight.crc:
                raise not_a_model(f"the weight of slot {weight.slot} is damaged (checksum)")


def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


def _mapped_code(stored: StoredProgram, file: int) -> tuple[int, int]:
    """The address of an image with the table of external functions behind it, and the bytes of both."""
    library = _library()
    failed = ctypes.c_void_p(-1).value
    page = mmap.ALLOCATIONGRANULARITY
    behind = -(-8 * max(len(stored.externals), 1) // page) * page
    size = stored.table + behind
    private = mmap.MAP_PRIVATE
    base = library.mmap(None, size, 0, private | mmap.MAP_ANONYMOUS, -1, 0)
    if base == failed:
        raise OSError(ctypes.get_errno(), "memory for the code cannot be reserved")
    code = library.mmap(base, stored.image_bytes, _READ | _EXECUTE, private | _FIXED, file, stored.image)
    table = library.mmap(base + stored.table, behind, _READ | _WRITE, private | mmap.MAP_ANONYMOUS | _FIXED, -1, 0)
    if failed in (code, table):
        raise OSError(ctypes.get_errno(), "the code cannot be mapped: is the file system mounted `noexec`?")
    addresses = (ctypes.c_uint64 * max(len(stored.externals), 1)).from_address(base + stored.table)
    for i, name in enumerate(stored.externals):
        addresses[i] = _address(name)
    library.mprotect(base + stored.table, behind, _READ)
    return base, size


def _unmap(base: int, size: int, pool: _Workers | None) -> None:
    if pool is not None:
        pool.end()
    _library().munmap(base, size)


def _address(name: str) -> int:
    """Of a function of the C library or its mathematical part."""
    for library in (None, "libm.so.6"):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            continue
    raise Problem("STR508", f"this machine cannot run the model: its C library has no `{name}`")


def _block(size: int) -> tuple[mmap.mmap, int]:
    """Zeroed memory of whole pages and its address; large blocks in huge pages, where the system has them to give."""
    huge = size >= _HUGE_PAGE
    memory = mmap.mmap(-1, max(size, 1) + (_HUGE_PAGE if huge else 0), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    address = -(-start // _HUGE_PAGE) * _HUGE_PAGE if huge else start
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory, address


def _empty(info: TensorInfo) -> Array:
    """An array that starts where a cache line does."""
    held = np.empty(info.bytes + _ALIGNMENT, np.uint8)
    start = -held.ctypes.data % _ALIGNMENT
    return held[start : start + info.bytes].view(_NUMPY[info.dtype]).reshape(info.shape)


def _in_child() -> None:
    for model in _models:
        model.forget_workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
