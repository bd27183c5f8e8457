"""A loop around a compiled program, in native code: each iteration reads the state that the one before has written.

The caller lays out where everything is, as numbers: where a slice per round is read or written, a slot moves on by a
step; where a state is carried, two buffers take turns, so that no round writes what it reads.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

from strop.codegen import object_code
from strop.runtime import jit
from strop.target import host

#: rounds without a limit
ENDLESS = 2**62

_TEXT = """
define i64 @strop_rounds(ptr %entry, ptr %runtime, ptr %arena, ptr %slots, ptr %work) {
start:
  %first = load i64, ptr %work
  %limit.at = getelementptr i64, ptr %work, i64 1
  %limit = load i64, ptr %limit.at
  %counter.at = getelementptr i64, ptr %work, i64 2
  %counter = load ptr, ptr %counter.at
  %going.at = getelementptr i64, ptr %work, i64 3
  %going = load ptr, ptr %going.at
  %moves.at = getelementptr i64, ptr %work, i64 4
  %moves = load i64, ptr %moves.at
  %turns.at = getelementptr i64, ptr %work, i64 5
  %turns = load i64, ptr %turns.at
  %move.all = getelementptr i64, ptr %work, i64 6
  %move.words = shl i64 %moves, 1
  %turn.all = getelementptr i64, ptr %move.all, i64 %move.words
  %status = load ptr, ptr %runtime
  %watched = icmp ne ptr %going, null
  %any = icmp slt i64 %first, %limit
  br i1 %any, label %round, label %none
none:
  ret i64 %first
round:
  %i = phi i64 [ %first, %start ], [ %next, %onward ]
  store i64 %i, ptr %counter
  call void %entry(ptr %runtime, ptr %arena, ptr %slots)
  %next = add i64 %i, 1
  %failed = load i64, ptr %status
  %bad = icmp ne i64 %failed, 0
  br i1 %bad, label %done, label %moving
moving:
  %m = phi i64 [ 0, %round ], [ %m.next, %move ]
  %m.more = icmp slt i64 %m, %moves
  br i1 %m.more, label %move, label %turning
move:
  %m.word = shl i64 %m, 1
  %m.at = getelementptr i64, ptr %move.all, i64 %m.word
  %m.slot = load i64, ptr %m.at
  %m.step.at = getelementptr i64, ptr %m.at, i64 1
  %m.step = load i64, ptr %m.step.at
  %m.place = getelementptr i64, ptr %slots, i64 %m.slot
  %m.old = load i64, ptr %m.place
  %m.new = add i64 %m.old, %m.step
  store i64 %m.new, ptr %m.place
  %m.next = add i64 %m, 1
  br label %moving
turning:
  %t = phi i64 [ 0, %moving ], [ %t.next, %turn ]
  %t.more = icmp slt i64 %t, %turns
  br i1 %t.more, label %turn, label %asking
turn:
  %t.word = shl i64 %t, 2
  %t.at = getelementptr i64, ptr %turn.all, i64 %t.word
  %t.in.at = load i64, ptr %t.at
  %t.out.word = getelementptr i64, ptr %t.at, i64 1
  %t.out.at = load i64, ptr %t.out.word
  %t.one.word = getelementptr i64, ptr %t.at, i64 2
  %t.one = load i64, ptr %t.one.word
  %t.other.word = getelementptr i64, ptr %t.at, i64 3
  %t.other = load i64, ptr %t.other.word
  %t.in = getelementptr i64, ptr %slots, i64 %t.in.at
  %t.out = getelementptr i64, ptr %slots, i64 %t.out.at
  %t.written = load i64, ptr %t.out
  store i64 %t.written, ptr %t.in
  %t.was.one = icmp eq i64 %t.written, %t.one
  %t.following = select i1 %t.was.one, i64 %t.other, i64 %t.one
  store i64 %t.following, ptr %t.out
  %t.next = add i64 %t, 1
  br label %turning
asking:
  br i1 %watched, label %look, label %onward
look:
  %flag = load i8, ptr %going
  %on = icmp ne i8 %flag, 0
  br i1 %on, label %onward, label %done
onward:
  %more = icmp slt i64 %next, %limit
  br i1 %more, label %round, label %done
done:
  ret i64 %next
}
"""


@functools.cache
def driver() -> Callable[..., int]:
    """(entry, runtime table, arena, slots, work) → the number of the round after the last one."""
    target = host.described_host()
    library = jit.LoadedCode([object_code.compile_object(_TEXT, target)], target)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5)
    call: Any = kind(library.address("strop_rounds"))
    call.library = library
    made: Callable[..., int] = call
    return made


def work(
    first: int, limit: int, counter: int, going: int, moves: Sequence[tuple[int, int]],
    turns: Sequence[tuple[int, int, int, int]],
) -> list[int]:  # fmt: skip
    """The numbers that the driver reads.

    `counter` is where it writes the round, `going` where it looks whether there is another one (0: it does not look);
    a move is (slot, step), a turn is (slot that reads, slot that writes, the two buffers).
    """
    flat = [number for entry in (*moves, *turns) for number in entry]
    return [first, limit, counter, going, len(moves), len(turns), *flat]
