"""How threads share what an entry does, as LLVM text.

An entry that has something to share starts one team (a parallel region of the thread pool) for all of it. The first
thread runs the steps; the others look out for *jobs*. A job is a function with a share for each thread, always the same
one, so that it finds in its caches what it left there. The first publishes a job, does its own share, then those that
their threads have not begun, and waits for the others. So a thread that gets no core, or gets it late, because others
work on this machine, holds up no step. Whoever waits spins for some microseconds, then gives way to whoever else wants
the core.

Recurrent nests need all threads at once, since these meet between the parts of a step: there nobody does another's
share.

The block of memory that a team meets at (`CREW` in the runtime table), in words of 8 bytes; what different threads
write has lines of its own:

    0   number of the job, counted over all calls; -1 when there will be no more
    1   its function, `void (ptr given, i64 share, i64 shares)`
    2   what it is given
    3   how many shares it has
    8   shares that are done
    16  threads that have arrived at a meeting
    24  meetings that have been held
    32  the steps of the entry, `void (ptr given)`
    33  what they are given
    34  threads in the team
    35  jobs before this call
    40  for each share, 8 words apart: the last job in which it was begun
"""

from __future__ import annotations

from strop.codegen.standalone_pool import START_TEAM, pause, pool_functions
from strop.core.runtime_table import (
    ARRIVED,
    BEFORE,
    BEGUN,
    CREW,
    DONE,
    GIVEN,
    JOB,
    MEETINGS,
    NUM_THREADS,
    PARALLEL,
    POOL,
    SHARES,
    STEPS,
    STEPS_GIVEN,
    TEAM,
    THREAD_NUM,
    THREADS,
    YIELD,
)
from strop.target.description import Target

SPINS = 2000  # looks at what is waited for before others are let go first, each some 20 ns

ENTER = "@strop.enter"  # (ptr ctx, ptr steps, ptr given)
SHARE = "@strop.share"  # (ptr ctx, ptr job, ptr given)
TOGETHER = "@strop.together"  # (ptr ctx, ptr job, ptr given)
MEET = "@strop.meet"  # (ptr ctx, i64 shares)


def slot(name: str, kind: str, number: int, table: str = "%ctx") -> list[str]:
    """Lines that load an entry of a table of pointers."""
    at = f"  %{name}.at = getelementptr inbounds ptr, ptr {table}, i64 {number}"
    return [at, f"  %{name} = load {kind}, ptr %{name}.at, align 8"]


def _word(name: str, number: int) -> str:
    return f"  %{name} = getelementptr inbounds i64, ptr %crew, i64 {number}"


def _wait(label: str, back: str, target: Target) -> list[str]:
    """Blocks that pass some time and go back; `%{label}.spun` counts how often."""
    return [
        f"{label}:",
        pause(target)[0],
        f"  %{label}.more = add i64 %{label}.spun, 1",
        f"  %{label}.long = icmp ugt i64 %{label}.more, {SPINS}",
        f"  br i1 %{label}.long, label %{label}.yield, label %{back}",
        f"{label}.yield:",
        f"  %{label}.yielded = call i32 %yield()",
        f"  br label %{back}",
    ]


def _spun(label: str, *fresh: str) -> str:
    came = [f"[ 0, %{block} ]" for block in fresh]
    again = [f"[ %{label}.more, %{label} ]", f"[ %{label}.more, %{label}.yield ]"]
    return f"  %{label}.spun = phi i64 {', '.join([*came, *again])}"


_PLACES = [
    *slot("crew", "ptr", CREW),
    *slot("yield", "ptr", YIELD),
    *(_word(f"{name}.at", n) for name, n in (("job", JOB), ("given", GIVEN), ("shares", SHARES), ("done", DONE))),
    _word("begun.at", BEGUN),
]


def _beginning(number: str, already: str) -> list[str]:
    """Lines that begin a share of job `%current`, unless somebody has."""
    return [
        f"  %line = mul i64 {number}, 8",
        "  %own.at = getelementptr inbounds i64, ptr %begun.at, i64 %line",
        "  %last = atomicrmw umax ptr %own.at, i64 %current acq_rel",
        "  %mine = icmp ult i64 %last, %current",
        f"  br i1 %mine, label %do, label %{already}",
        "do:",
    ]


def _serve(target: Target) -> list[str]:
    """What the others of a team do: their shares, until there will be no more jobs."""
    return [
        "define internal void @strop.serve(ptr %ctx, i64 %number) #0 {",
        "entry:",
        *_PLACES,
        _word("before.at", BEFORE),
        "  %before = load atomic i64, ptr %before.at monotonic, align 8",
        "  br label %look",
        "look:",
        "  %seen = phi i64 [ %before, %entry ], [ %current, %job ], [ %current, %do ], [ %seen, %idle ], "
        "[ %seen, %idle.yield ]",
        _spun("idle", "entry", "job", "do"),
        "  %current = load atomic i64, ptr %crew acquire, align 8",
        "  %same = icmp eq i64 %current, %seen",
        "  br i1 %same, label %idle, label %new",
        "new:",
        "  %over = icmp eq i64 %current, -1",
        "  br i1 %over, label %leave, label %job",
        "job:",
        *_beginning("%number", "look"),
        "  %function = load ptr, ptr %job.at, align 8",
        "  %given = load ptr, ptr %given.at, align 8",
        "  %shares = load i64, ptr %shares.at, align 8",
        "  call void %function(ptr %given, i64 %number, i64 %shares)",
        "  %counted = atomicrmw add ptr %done.at, i64 1 release",
        "  br label %look",
        *_wait("idle", "look", target),
        "leave:",
        "  ret void",
        "}",
    ]


def _published(name: str, shares: list[str]) -> list[str]:
    """The start of a function that publishes a job and does the first share; `shares` computes `%n`."""
    return [
        f"define internal void {name}(ptr %ctx, ptr %function, ptr %given) #0 {{",
        "entry:",
        *_PLACES,
        *shares,
        "  store ptr %function, ptr %job.at, align 8",
        "  store ptr %given, ptr %given.at, align 8",
        "  store i64 %n, ptr %shares.at, align 8",
        "  store atomic i64 0, ptr %done.at monotonic, align 8",
        "  %previous = load atomic i64, ptr %crew monotonic, align 8",
        "  %current = add i64 %previous, 1",
        "  store atomic i64 %current, ptr %crew release, align 8",
        "  call void %function(ptr %given, i64 0, i64 %n)",
        "  %others = sub i64 %n, 1",
    ]


def _finished(target: Target, *fresh: str) -> list[str]:
    """The end of such a function: shares that others have begun are waited for."""
    return [
        "look:",
        _spun("wait", *fresh),
        "  %ready = load atomic i64, ptr %done.at acquire, align 8",
        "  %all = icmp eq i64 %ready, %others",
        "  br i1 %all, label %leave, label %wait",
        *_wait("wait", "look", target),
        "leave:",
        "  ret void",
        "}",
    ]


def _share(target: Target) -> list[str]:
    return [
        *_published(SHARE, slot("n", "i64", THREADS)),
        "  br label %help",
        "help:",
        "  %number = phi i64 [ 1, %entry ], [ %following, %next ]",
        "  %more = icmp ult i64 %number, %n",
        "  br i1 %more, label %try, label %look",
        "try:",
        *_beginning("%number", "next"),
        "  call void %function(ptr %given, i64 %number, i64 %n)",
        "  %counted = atomicrmw add ptr %done.at, i64 1 release",
        "  br label %next",
        "next:",
        "  %following = add i64 %number, 1",
        "  br label %help",
        *_finished(target, "help"),
    ]


def _together(target: Target) -> list[str]:
    """As many shares as there are threads in the team, one for each."""
    count = [
        _word("team.at", TEAM),
        "  %team = load i64, ptr %team.at, align 8",
        *slot("threads", "i64", THREADS),
        "  %n = call i64 @llvm.smin.i64(i64 %team, i64 %threads)",
    ]
    return [*_published(TOGETHER, count), "  br label %look", *_finished(target, "entry")]


def _member(standalone: bool) -> list[str]:
    """What each thread of a team runs; a standalone pool tells it its number and how many there are."""
    asked = [*slot("get_num", "ptr", THREAD_NUM), "  %own = call i32 %get_num()"]
    counted = [*slot("get_count", "ptr", NUM_THREADS), "  %count = call i32 %get_count()"]
    return [
        f"define internal void @strop.member(ptr %ctx{', i32 %own, i32 %count' if standalone else ''}) #0 {{",
        "entry:",
        *slot("crew", "ptr", CREW),
        *([] if standalone else asked),
        "  %first = icmp eq i32 %own, 0",
        "  br i1 %first, label %lead, label %follow",
        "lead:",
        *([] if standalone else counted),
        "  %team = zext i32 %count to i64",
        _word("team.at", TEAM),
        "  store i64 %team, ptr %team.at, align 8",
        *slot("steps", "ptr", STEPS, "%crew"),
        *slot("given", "ptr", STEPS_GIVEN, "%crew"),
        "  call void %steps(ptr %given)",
        "  %jobs = load atomic i64, ptr %crew monotonic, align 8",
        _word("before.at", BEFORE),
        "  store atomic i64 %jobs, ptr %before.at monotonic, align 8",
        "  store atomic i64 -1, ptr %crew release, align 8",
        "  ret void",
        "follow:",
        "  %number = zext i32 %own to i64",
        "  call void @strop.serve(ptr %ctx, i64 %number)",
        "  ret void",
        "}",
    ]


def _enter(standalone: bool) -> list[str]:
    start = "%parallel(ptr @strop.member, ptr %ctx, i32 %n, i32 0)"
    if standalone:
        start = f"{START_TEAM}(ptr %pool, ptr @strop.member, ptr %ctx, i32 %n)"
    return [
        f"define internal void {ENTER}(ptr %ctx, ptr %steps, ptr %given) #0 {{",
        "entry:",
        *slot("crew", "ptr", CREW),
        *(slot("pool", "ptr", POOL) if standalone else slot("parallel", "ptr", PARALLEL)),
        *slot("threads", "i64", THREADS),
        _word("before.at", BEFORE),
        "  %before = load i64, ptr %before.at, align 8",
        "  store i64 %before, ptr %crew, align 8",
        _word("steps.at", STEPS),
        "  store ptr %steps, ptr %steps.at, align 8",
        _word("given.at", STEPS_GIVEN),
        "  store ptr %given, ptr %given.at, align 8",
        "  %n = trunc i64 %threads to i32",
        f"  call void {start}",
        "  ret void",
        "}",
    ]


def meeting(target: Target) -> tuple[str, ...]:
    """Where the threads of a job wait until all of them are there: definitions for a module that uses it."""
    text = [
        f"define internal void {MEET}(ptr %ctx, i64 %n) #0 {{",
        "entry:",
        *slot("crew", "ptr", CREW),
        *slot("yield", "ptr", YIELD),
        _word("arrived.at", ARRIVED),
        _word("meetings.at", MEETINGS),
        "  %held = load atomic i64, ptr %meetings.at acquire, align 8",
        "  %before = atomicrmw add ptr %arrived.at, i64 1 acq_rel",
        "  %there = add i64 %before, 1",
        "  %all = icmp eq i64 %there, %n",
        "  br i1 %all, label %open, label %look",
        "open:",
        "  store atomic i64 0, ptr %arrived.at monotonic, align 8",
        "  %opened = atomicrmw add ptr %meetings.at, i64 1 release",
        "  ret void",
        "look:",
        _spun("wait", "entry"),
        "  %now = load atomic i64, ptr %meetings.at acquire, align 8",
        "  %same = icmp eq i64 %now, %held",
        "  br i1 %same, label %wait, label %leave",
        *_wait("wait", "look", target),
        "leave:",
        "  ret void",
        "}",
    ]
    return "\n".join(text), pause(target)[1]


def team_functions(target: Target, standalone: bool = False) -> tuple[list[str], list[str]]:
    """The functions that start a team and share work in it, and what they declare. A standalone program has the pool
    of threads in its own code."""
    made = [_serve(target), _share(target), _together(target), _member(standalone), _enter(standalone)]
    if standalone:
        made += pool_functions(target)
    declared = [pause(target)[1], "declare i64 @llvm.smin.i64(i64, i64)"]
    return ["\n".join(lines) for lines in made], declared
