"""Measuring a machine once: its clock, and bytes per cycle from each level of memory.

Without this a shipped description serves. What is measured is kept beside the cache, under what the machine says of
itself, and `strop.target.host.host` takes it from there.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import llvmlite.binding as llvm

from strop.core.cache import Cache
from strop.target.description import Target

_CHAIN = 64  # dependent steps of one cycle each, per iteration
_STREAMS = 8  # accumulators: enough that no addition waits for another
_SECONDS = 0.02  # of one measurement
_ROUNDS, _LONGEST = 4, 5.0  # of all of them at least; seconds after which no other round begins
_BETTER = 1.02  # a round that finds something faster by this much asks for another
_NEAR_ENOUGH = 0.7  # of the described rate of L1
_STEADY = 0.8  # the share of the best that half of the rounds reach on a machine that is not busy


@dataclass(frozen=True)
class Calibration:
    """What was measured on one core."""

    ghz: float
    bandwidth: tuple[float, float, float, float]  # bytes per cycle read from L1, L2, L3 and memory
    steady: bool = True  # rounds agreed with each other

    def of(self, target: Target) -> Target:
        """The description with measured numbers in place of shipped ones.

        What L1 gives follows from the core's ports, and a run over so few bytes pays for its ends: the described rate
        stays unless the measured one is far from it.
        """
        near, *beyond = self.bandwidth
        a = target.bandwidth[0] if near > _NEAR_ENOUGH * target.bandwidth[0] else near
        b, c, d = beyond
        return replace(target, ghz=self.ghz, bandwidth=(a, b, c, d))


def calibrate(target: Target) -> Calibration:
    """Measure this machine; takes one to five seconds.

    Rounds over all levels, until one finds nothing faster: whatever else the machine does only ever slows, and rarely
    for several rounds in a row.
    """
    runs = _runs(target)
    rates: list[list[float]] = [[] for _ in runs]
    ends = time.perf_counter() + _LONGEST
    while True:
        news = False
        for found, (call, times, scale) in zip(rates, runs):
            rate = _rate(call, times) * scale
            news = news or rate > _BETTER * max(found, default=0.0)
            found.append(rate)
        if time.perf_counter() > ends or (len(rates[0]) >= _ROUNDS and not news):
            break
    ghz, *bytes_per_second = map(max, rates)
    steady = all(sorted(found)[len(found) // 2] > _STEADY * max(found) for found in rates)
    a, b, c, d = itertools.accumulate((round(one / ghz / 1e9, 1) for one in bytes_per_second), min)
    return Calibration(round(ghz, 3), (a, b, c, d), steady)


def _runs(target: Target) -> list[tuple[Callable[[int], object], int, float]]:
    """(what to call, with what number, what a call per second means): the clock in GHz, then bytes per second."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("\n".join([_clock_text(), _read_text(target)]))
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    count = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("clock"))
    read = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        engine.get_function_address("read")
    )
    beyond = 2 * target.l3
    held = (ctypes.c_uint8 * (beyond + 4096))()
    address = -(-ctypes.addressof(held) // 4096) * 4096

    def reader(size: int) -> tuple[Callable[[int], object], int, float]:
        step = _STREAMS * target.vector_bytes
        whole = size // step * step

        def call(times: int, keep: object = (engine, held)) -> object:
            return read(address, whole, times)

        return call, max(1, (1 << 22) // whole), float(whole)

    sizes = (target.l1 // 2, (target.l1 + target.l2) // 2, (target.l2 + min(target.l3, 12 * target.l2)) // 2, beyond)
    return [(lambda times: count(times, 3), 20_000, _CHAIN / 1e9), *map(reader, sizes)]


def _rate(call: Callable[[int], object], times: int) -> float:
    """Calls per second, by the thread's own clock."""
    done, start = 0, time.thread_time_ns()
    while True:
        call(times)
        done += times
        taken = time.thread_time_ns() - start
        if taken > _SECONDS * 1e9:
            return done / taken * 1e9


def _clock_text() -> str:
    """A chain in which additions and exclusive-ors take turns: one cycle each on every core that we describe."""
    lines = ["define i64 @clock(i64 %n, i64 %y) {", "entry:", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %j, %loop ]")
    lines.append(f"  %x0 = phi i64 [ %y, %entry ], [ %x{_CHAIN}, %loop ]")
    for i in range(_CHAIN):
        lines.append(f"  %x{i + 1} = {'add' if i % 2 else 'xor'} i64 %x{i}, %y")
    lines += ["  %j = add i64 %i, 1", "  %more = icmp ult i64 %j, %n", "  br i1 %more, label %loop, label %done"]
    return "\n".join([*lines, "done:", f"  ret i64 %x{_CHAIN}", "}"])


def _read_text(target: Target) -> str:
    """Sums vectors over some bytes, again and again."""
    lanes = target.lanes("f32")
    kind = f"<{lanes} x float>"
    width = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    streams = range(_STREAMS)
    step = _STREAMS * target.vector_bytes
    lines = [f"define float @read(ptr %p, i64 %bytes, i64 %times) {width} {{", "entry:", "  br label %again", "again:"]
    lines.append("  %t = phi i64 [ 0, %entry ], [ %t1, %end ]")
    lines += [f"  %o{i} = phi {kind} [ zeroinitializer, %entry ], [ %s{i}, %end ]" for i in streams]
    lines += ["  br label %loop", "loop:", "  %at = phi i64 [ 0, %again ], [ %next, %loop ]"]
    lines += [f"  %a{i} = phi {kind} [ %o{i}, %again ], [ %s{i}, %loop ]" for i in streams]
    for i in streams:
        lines.append(f"  %q{i} = add i64 %at, {i * target.vector_bytes}")
        lines.append(f"  %g{i} = getelementptr i8, ptr %p, i64 %q{i}")
        lines.append(f"  %v{i} = load {kind}, ptr %g{i}, align 4")
        lines.append(f"  %s{i} = fadd {kind} %a{i}, %v{i}")
    lines += [f"  %next = add i64 %at, {step}", "  %more = icmp ult i64 %next, %bytes"]
    lines += ["  br i1 %more, label %loop, label %end", "end:", "  %t1 = add i64 %t, 1"]
    lines += ["  %repeat = icmp ult i64 %t1, %times", "  br i1 %repeat, label %again, label %done", "done:"]
    lines.append(f"  %r0 = fadd {kind} %s0, zeroinitializer")
    lines += [f"  %r{i} = fadd {kind} %r{i - 1}, %s{i}" for i in streams if i]
    return "\n".join([*lines, f"  %r = extractelement {kind} %r{_STREAMS - 1}, i64 0", "  ret float %r", "}"])


# ---- kept ------------------------------------------------------------------------------------------------------------


def key_of(target: Target) -> str:
    """What the machine says of itself, as a key of the cache."""
    facts = f"calibration {target.instruction_set} {target.l1} {target.l2} {target.l3}"
    return hashlib.sha256(facts.encode()).hexdigest()


def keep(found: Calibration, target: Target, cache: Cache) -> bool:
    return cache.put(key_of(target), json.dumps(asdict(found)).encode())


def kept(target: Target, cache: Cache) -> Calibration | None:
    """What was measured before; None where nothing was, or where it makes no sense (then it is deleted)."""
    stored = cache.get(key_of(target))
    if stored is None:
        return None
    try:
        facts = json.loads(stored)
        a, b, c, d = rates = tuple(map(float, facts["bandwidth"]))
        ghz = float(facts["ghz"])
        if not all(0 < number < math.inf for number in (ghz, *rates)):
            raise ValueError(f"{ghz} GHz, {rates} bytes per cycle")
        return Calibration(ghz, (a, b, c, d), bool(facts.get("steady", True)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        cache.discard(key_of(target), f"holds no measurement of this machine ({error})", instead="described as shipped")
        return None
