"""Measuring a machine once: clock, bytes per cycle from each level of memory, and what a fork and join costs.

Without this a shipped description serves. What is measured is kept beside the cache, under what the machine says of
itself, and `strop.run.jit.host` takes it from there.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import llvmlite.binding as llvm

from strop.core.cache import Cache
from strop.core.target import Target

_CHAIN = 64  # dependent steps of one cycle each, per iteration
_STREAMS = 8  # accumulators: enough that no addition waits for another
_SECONDS = 0.02  # of one measurement
_REPEATS = 7


@dataclass(frozen=True)
class Calibration:
    """What was measured on one core."""

    ghz: float
    bandwidth: tuple[float, float, float, float]  # bytes per cycle read from L1, L2, L3 and memory

    def of(self, target: Target) -> Target:
        """The description with measured numbers in place of shipped ones."""
        return replace(target, ghz=self.ghz, bandwidth=self.bandwidth)


def calibrate(target: Target) -> Calibration:
    """Measure this machine; takes about two seconds. The best of several runs: disturbance only ever slows."""
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
    ghz = _best(lambda n: count(n, 3), 20_000) * _CHAIN / 1e9
    sizes = (target.l1 // 2, (target.l1 + target.l2) // 2, (target.l2 + min(target.l3, 12 * target.l2)) // 2)
    beyond = 2 * target.l3
    step = _STREAMS * target.vector_bytes
    held = (ctypes.c_uint8 * (beyond + 4096))()
    address = -(-ctypes.addressof(held) // 4096) * 4096
    rates = []
    for size in (*sizes, beyond):
        whole = size // step * step
        times = max(1, (1 << 22) // whole)
        per_second = _best(lambda n, whole=whole: read(address, whole, n), times) * whole  # type: ignore[misc]
        rates.append(round(per_second / ghz / 1e9, 1))
    return Calibration(round(ghz, 3), (rates[0], rates[1], rates[2], rates[3]))


def _best(call: Callable[[int], object], times: int) -> float:
    """Calls per second in the best of several runs, by the thread's own clock."""
    best = 0.0
    for _ in range(_REPEATS):
        done, start = 0, time.thread_time_ns()
        while True:
            call(times)
            done += times
            taken = time.thread_time_ns() - start
            if taken > _SECONDS * 1e9:
                break
        best = max(best, done / taken * 1e9)
    return best


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
    facts = f"calibration {target.key} {target.l1} {target.l2} {target.l3}"
    return hashlib.sha256(facts.encode()).hexdigest()


def keep(found: Calibration, target: Target, cache: Cache) -> bool:
    return cache.put(key_of(target), json.dumps(asdict(found)).encode())


def kept(target: Target, cache: Cache) -> Calibration | None:
    """What was measured before; None where nothing was, or where it makes no sense."""
    stored = cache.get(key_of(target))
    if stored is None:
        return None
    try:
        facts = json.loads(stored)
        a, b, c, d = map(float, facts["bandwidth"])
        return Calibration(float(facts["ghz"]), (a, b, c, d))
    except (KeyError, TypeError, ValueError):
        return None
