"""A small pool of threads as LLVM text, for programs that run where there is neither PyTorch nor its OpenMP runtime.

Whoever loads the program starts the workers, POSIX threads that run `strop_worker`, and owns the block of memory that
they share with callers (words of 8 bytes; `core/runtime_table.py`):

    0   state: how often a team was started (32 bits), whether it is open (1 bit), workers inside (31 bits)
    8   the team's function, `void (ptr given, i32 number, i32 team)`; null tells the workers to end
    9   what it is given
    10  threads in the team
    16  1 while some caller uses the pool
    24  numbers that were given to workers
    25  workers that there are
    26  the C library's `syscall`

A caller opens a team, runs its function as number 0, closes the team and waits for those inside. A worker that comes
late finds the team closed and waits for the next one, so that nobody waits for a thread that gets no core. A caller
that finds the pool in use runs its function alone. Whoever waits spins for some microseconds, then sleeps (futex).
"""

from __future__ import annotations

from strop.core.runtime_table import (
    POOL_BUSY,
    POOL_GIVEN,
    POOL_MEMBER,
    POOL_NUMBERS,
    POOL_STATE,
    POOL_SYSCALL,
    POOL_TEAM,
    POOL_WORKERS,
)
from strop.target.description import Target

START_TEAM = "@strop.start_team"  # (ptr pool, ptr member, ptr given, i32 threads)
WORKER = "strop_worker"  # ptr (ptr pool)
END_WORKERS = "strop_end_workers"  # void (ptr pool): no caller may use it any more
_SPINS = 4000  # looks at what is waited for before sleeping, each some 20 ns
_OPEN = 1 << 31
_INSIDE = _OPEN - 1
_STATE_CHANGES, _LAST_LEAVES = 4, 0  # bytes of the state whose 32 bits are waited for
_WAIT, _WAKE = 128, 129  # of a futex that only this process knows
_EVERYBODY = 2**31 - 1
_FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the system call


def pause(target: Target) -> tuple[str, str]:
    """What a loop that waits does in each round, and its declaration."""
    if target.triple.startswith(("x86_64", "i686")):
        return "  call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if target.triple.startswith("aarch64"):
        return "  call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""


def _word(name: str, number: int) -> str:
    return f"  %{name} = getelementptr inbounds i64, ptr %pool, i64 {number}"


def _futex(target: Target, byte: int, operation: int, value: str, name: str) -> list[str]:
    """Sleep while 32 bits of the state are as they were seen, or wake those who do."""
    given = f"i64 {_FUTEX[target.triple.partition('-')[0]]}, ptr %{name}.at, i64 {operation}, i64 {value}, ptr null"
    return [
        f"  %{name}.at = getelementptr inbounds i8, ptr %pool, i64 {byte}",
        f"  %{name} = call i64 (i64, ...) %syscall({given})",
    ]


def _waiting(target: Target, byte: int, seen: str) -> list[str]:
    """Blocks that lead from `wait` back to `look`: rounds of spinning, `%spun` so far, then sleep until 32 bits of the
    state are no longer as they were seen."""
    return [
        "wait:",
        "  %spun.more = add i64 %spun, 1",
        f"  %long = icmp ugt i64 %spun.more, {_SPINS}",
        "  br i1 %long, label %sleep, label %idle",
        "idle:",
        pause(target)[0],
        "  br label %look",
        "sleep:",
        *_futex(target, byte, _WAIT, seen, "slept"),
        "  br label %look",
    ]


_SYSCALL = [_word("syscall.at", POOL_SYSCALL), "  %syscall = load ptr, ptr %syscall.at, align 8"]


def _worker(target: Target) -> list[str]:
    return [
        f"define ptr @{WORKER}(ptr %pool) #0 {{",
        "entry:",
        *_SYSCALL,
        _word("numbers.at", POOL_NUMBERS),
        "  %before = atomicrmw add ptr %numbers.at, i64 1 acq_rel",
        "  %before.small = trunc i64 %before to i32",
        "  %own = add i32 %before.small, 1",
        "  br label %look",
        "look:",
        "  %seen = phi i64 [ 0, %entry ], [ %seen, %idle ], [ %seen, %sleep ], [ %started, %missed ], "
        "[ %seen, %again ], [ %started, %left ]",
        "  %spun = phi i64 [ 0, %entry ], [ %spun.more, %idle ], [ 0, %sleep ], [ 0, %missed ], [ 0, %again ], "
        "[ 0, %left ]",
        "  %state = load atomic i64, ptr %pool acquire, align 8",
        "  %started = lshr i64 %state, 32",
        "  %same = icmp eq i64 %started, %seen",
        "  br i1 %same, label %wait, label %new",
        *_waiting(target, _STATE_CHANGES, "%seen"),
        "new:",
        f"  %open.bit = and i64 %state, {_OPEN}",
        "  %open = icmp ne i64 %open.bit, 0",
        "  br i1 %open, label %try, label %missed",
        "missed:",
        "  br label %look",
        "try:",
        "  %more = add i64 %state, 1",
        "  %swapped = cmpxchg ptr %pool, i64 %state, i64 %more acq_rel monotonic",
        "  %entered = extractvalue { i64, i1 } %swapped, 1",
        "  br i1 %entered, label %inside, label %again",
        "again:",
        "  br label %look",
        "inside:",
        _word("member.at", POOL_MEMBER),
        "  %member = load ptr, ptr %member.at, align 8",
        _word("given.at", POOL_GIVEN),
        "  %given = load ptr, ptr %given.at, align 8",
        _word("team.at", POOL_TEAM),
        "  %team.word = load i64, ptr %team.at, align 8",
        "  %team = trunc i64 %team.word to i32",
        "  %ends = icmp eq ptr %member, null",
        "  %part = icmp ult i32 %own, %team",
        "  %idles = xor i1 %part, true",
        "  %nothing = or i1 %ends, %idles",
        "  br i1 %nothing, label %leave, label %run",
        "run:",
        "  call void %member(ptr %given, i32 %own, i32 %team)",
        "  br label %leave",
        "leave:",
        "  %were = atomicrmw sub ptr %pool, i64 1 acq_rel",
        "  %rest = trunc i64 %were to i32",
        "  %last = icmp eq i32 %rest, 1",  # closed, and nobody else inside
        "  br i1 %ends, label %end, label %tell",
        "tell:",
        "  br i1 %last, label %wake, label %left",
        "wake:",
        *_futex(target, _LAST_LEAVES, _WAKE, "1", "woken"),
        "  br label %left",
        "left:",
        "  br label %look",
        "end:",
        "  ret ptr null",
        "}",
    ]


def _start_team(target: Target) -> list[str]:
    return [
        f"define internal void {START_TEAM}(ptr %pool, ptr %member, ptr %given, i32 %n) #0 {{",
        "entry:",
        *_SYSCALL,
        _word("workers.at", POOL_WORKERS),
        "  %workers.word = load atomic i64, ptr %workers.at acquire, align 8",
        "  %workers = trunc i64 %workers.word to i32",
        "  %most = add i32 %workers, 1",
        "  %fewer = icmp ult i32 %most, %n",
        "  %team = select i1 %fewer, i32 %most, i32 %n",
        "  %single = icmp eq i32 %team, 1",
        "  br i1 %single, label %alone, label %ask",
        "ask:",
        _word("busy.at", POOL_BUSY),
        "  %taken = cmpxchg ptr %busy.at, i64 0, i64 1 acq_rel monotonic",
        "  %mine = extractvalue { i64, i1 } %taken, 1",
        "  br i1 %mine, label %open, label %alone",
        "alone:",
        "  call void %member(ptr %given, i32 0, i32 1)",
        "  ret void",
        "open:",
        _word("member.at", POOL_MEMBER),
        "  store ptr %member, ptr %member.at, align 8",
        _word("given.at", POOL_GIVEN),
        "  store ptr %given, ptr %given.at, align 8",
        _word("team.at", POOL_TEAM),
        "  %team.word = zext i32 %team to i64",
        "  store i64 %team.word, ptr %team.at, align 8",
        *_opened(target),
        "  call void %member(ptr %given, i32 0, i32 %team)",
        f"  %closing = atomicrmw and ptr %pool, i64 {~_OPEN} acq_rel",
        "  br label %look",
        "look:",
        "  %spun = phi i64 [ 0, %open ], [ %spun.more, %idle ], [ 0, %sleep ]",
        "  %now = load atomic i64, ptr %pool acquire, align 8",
        f"  %inside = and i64 %now, {_INSIDE}",
        "  %empty = icmp eq i64 %inside, 0",
        "  br i1 %empty, label %leave, label %wait",
        *_waiting(target, _LAST_LEAVES, "%inside"),
        "leave:",
        "  store atomic i64 0, ptr %busy.at release, align 8",
        "  ret void",
        "}",
    ]


def _end_workers(target: Target) -> list[str]:
    return [
        f"define void @{END_WORKERS}(ptr %pool) #0 {{",
        "entry:",
        *_SYSCALL,
        _word("member.at", POOL_MEMBER),
        "  store ptr null, ptr %member.at, align 8",
        *_opened(target),
        "  ret void",
        "}",
    ]


def _opened(target: Target) -> list[str]:
    """Lines that open a team and wake the workers."""
    return [
        "  %state = load atomic i64, ptr %pool monotonic, align 8",
        "  %started = lshr i64 %state, 32",
        "  %next = add i64 %started, 1",
        "  %next.high = shl i64 %next, 32",
        f"  %opened = or i64 %next.high, {_OPEN}",
        "  store atomic i64 %opened, ptr %pool release, align 8",
        *_futex(target, _STATE_CHANGES, _WAKE, str(_EVERYBODY), "woken"),
    ]


def pool_functions(target: Target) -> list[list[str]]:
    """The worker, what ends the workers, and the function that starts a team."""
    assert POOL_STATE == 0
    return [_worker(target), _end_workers(target), _start_team(target)]
