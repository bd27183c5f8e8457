"""Native code run over the rows of a table: a row is a number of elements and the pointers to them.

    table = RowTable(rows=3, strides=(0, 4, 4))     # three pointers per row; bytes between elements behind each
    table.counts[:] = …; table.pointers[:] = …; table.kernels[:] = kernels.addresses
    table.run(threads=2)

A kernel is compiled for pieces of a few fixed sizes (`PIECES`). A row is done in as many of the largest as fit, then
in smaller ones. Threads take rows one after the other until none is left, so that a thread that gets no core holds up
one row at most.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from strop.codegen import object_code
from strop.core.runtime_table import STATUS, TABLE
from strop.runtime import jit
from strop.runtime.program import NativeProgram
from strop.runtime.threads import pool
from strop.target import host

#: elements of the pieces that kernels are compiled for, from the largest to the smallest
PIECES = (4096, 64, 1)
MOST_POINTERS = 8
#: words of a row before its pointers: the number of elements, then an entry per size of piece
_HEAD = 1 + len(PIECES)

_TEXT = """
define void @strop_take_rows(ptr %job) {
start:
  %rows.at = getelementptr i64, ptr %job, i64 1
  %rows = load ptr, ptr %rows.at
  %words.at = getelementptr i64, ptr %job, i64 2
  %words = load i64, ptr %words.at
  %end.at = getelementptr i64, ptr %job, i64 3
  %end = load i64, ptr %end.at
  %strides.at = getelementptr i64, ptr %job, i64 4
  %strides = load ptr, ptr %strides.at
  %runtime.at = getelementptr i64, ptr %job, i64 5
  %runtime = load ptr, ptr %runtime.at
  %pointers = sub i64 %words, HEAD
  %slots = alloca [MOST x i64], align 64
  br label %claim
claim:
  %number = atomicrmw add ptr %job, i64 1 monotonic
  %some = icmp slt i64 %number, %end
  br i1 %some, label %take, label %leave
leave:
  ret void
take:
  %skipped = mul i64 %number, %words
  %row = getelementptr i64, ptr %rows, i64 %skipped
  %count = load i64, ptr %row
  %given = getelementptr i64, ptr %row, i64 HEAD
  br label %copy
copy:
  %c = phi i64 [ 0, %take ], [ %c.next, %copy ]
  %c.from = getelementptr i64, ptr %given, i64 %c
  %c.to = getelementptr [MOST x i64], ptr %slots, i64 0, i64 %c
  %c.word = load i64, ptr %c.from
  store i64 %c.word, ptr %c.to
  %c.next = add i64 %c, 1
  %c.more = icmp slt i64 %c.next, %pointers
  br i1 %c.more, label %copy, label %size
size:
  %s = phi i64 [ 0, %copy ], [ %s.next, %smaller ]
  %s.left = phi i64 [ %count, %copy ], [ %left, %smaller ]
  %size.at = getelementptr [KINDS x i64], ptr @pieces, i64 0, i64 %s
  %elements = load i64, ptr %size.at
  %s.next = add i64 %s, 1
  %entry.at = getelementptr i64, ptr %row, i64 %s.next
  %entry = load ptr, ptr %entry.at
  br label %look
look:
  %left = phi i64 [ %s.left, %size ], [ %left.next, %moved ]
  %fits = icmp sge i64 %left, %elements
  br i1 %fits, label %piece, label %smaller
piece:
  call void %entry(ptr %runtime, ptr null, ptr %slots)
  %left.next = sub i64 %left, %elements
  br label %move
move:
  %m = phi i64 [ 0, %piece ], [ %m.next, %move ]
  %m.stride.at = getelementptr i64, ptr %strides, i64 %m
  %m.stride = load i64, ptr %m.stride.at
  %m.bytes = mul i64 %m.stride, %elements
  %m.at = getelementptr [MOST x i64], ptr %slots, i64 0, i64 %m
  %m.old = load i64, ptr %m.at
  %m.new = add i64 %m.old, %m.bytes
  store i64 %m.new, ptr %m.at
  %m.next = add i64 %m, 1
  %m.more = icmp slt i64 %m.next, %pointers
  br i1 %m.more, label %move, label %moved
moved:
  br label %look
smaller:
  %more = icmp slt i64 %s.next, KINDS
  br i1 %more, label %size, label %claim
}
"""


@functools.cache
def _take_rows() -> Callable[[int], None]:
    """Does rows of a job until none is left. A job is, in words: the next row, the table, words per row, the row to
    stop before, strides, the runtime table."""
    pieces = ", ".join(f"i64 {size}" for size in PIECES)
    text = f"@pieces = private constant [{len(PIECES)} x i64] [{pieces}]\n{_TEXT}"
    for word, value in (("HEAD", _HEAD), ("MOST", MOST_POINTERS), ("KINDS", len(PIECES))):
        text = text.replace(word, str(value))
    target = host.described_host()
    library = jit.LoadedCode([object_code.compile_object(text, target)], target)
    call: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("strop_take_rows"))
    call.library = library
    made: Callable[[int], None] = call
    return made


@functools.cache
def _parallel(address: int) -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)(address)


_Job = ctypes.c_int64 * 6  # see `_take_rows`


@dataclass(frozen=True)
class PieceKernels:
    """Entries of one kernel, per size of piece. They are called without an arena and without scratch."""

    programs: tuple[NativeProgram, ...]  # which hold the code

    def __post_init__(self) -> None:
        for program in self.programs:
            compiled = program.compiled
            places = [*program.slots_of_inputs, *program.slots_of_results]
            assert not compiled.arena_bytes and not compiled.scratch_bytes and not compiled.about.threaded
            assert places == list(range(len(places))), "pointers of a row follow the program's inputs and outputs"

    @property
    def addresses(self) -> list[int]:
        return [program.entry_address for program in self.programs]


class RowTable:
    """Rows for native code. What the pointers lead to is the caller's to keep alive."""

    def __init__(self, rows: int, strides: Sequence[int]) -> None:
        assert len(strides) <= MOST_POINTERS
        self.words = np.zeros((rows, _HEAD + len(strides)), np.int64)
        self.counts, self.kernels, self.pointers = self.words[:, 0], self.words[:, 1:_HEAD], self.words[:, _HEAD:]
        steps, status, runtime = np.array(strides, np.int64), np.zeros(1, np.int64), np.zeros(TABLE, np.int64)
        runtime[STATUS] = status.ctypes.data
        self._kept = steps, status, runtime  # the job points to them
        self._job = self.words.ctypes.data, self.words.shape[1], rows, steps.ctypes.data, runtime.ctypes.data

    def run(self, threads: int = 1) -> None:
        """Do every row."""
        rows = len(self.words)
        job = _Job(0, *self._job)
        take = _take_rows()
        team = pool() if threads > 1 and rows > 1 else None
        if team is None:
            take(ctypes.addressof(job))
        else:
            function = ctypes.cast(take, ctypes.c_void_p)  # type: ignore[arg-type]
            _parallel(team.parallel)(function, ctypes.addressof(job), min(threads, rows), 0)
