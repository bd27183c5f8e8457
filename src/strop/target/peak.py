"""This machine's measured fp32 fused-multiply-add peak: the yardstick of every benchmark."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import partial

import llvmlite.binding as llvm

_LANES = (4, 8, 16)
_CHAINS = (12, 24)
_STEPS = 400_000


def measure_peak(threads: int = 1, *, repeats: int = 5) -> float:
    """GFLOP/s of independent FMA chains in registers, on `threads` threads at once; the best of all shapes and repeats.

    Which vector width and how many chains a core needs is not assumed: each is tried. The best run is taken because
    whatever else the machine does only ever lowers the number.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    shapes = [(lanes, chains) for lanes in _LANES for chains in _CHAINS]
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    module = llvm.parse_assembly("\n".join(_chain_function(*shape) for shape in shapes))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float, ctypes.c_float)
    best = 0.0
    for lanes, chains in shapes:
        function = prototype(engine.get_function_address(f"fma_{lanes}_{chains}"))
        steps = _STEPS // chains
        flops = 2.0 * lanes * chains * steps * threads
        for _ in range(repeats):
            best = max(best, flops / _together(partial(function, steps, 0.999, 0.001), threads) / 1e9)
    return best


def _together(work: Callable[[], object], threads: int) -> float:
    """Seconds from the moment all threads stand ready until the last is done."""
    gate = threading.Barrier(threads)
    started = [0.0] * threads
    ended = [0.0] * threads

    def run(index: int) -> None:
        gate.wait()
        started[index] = time.perf_counter()
        work()
        ended[index] = time.perf_counter()

    others = [threading.Thread(target=run, args=(index,)) for index in range(1, threads)]
    for thread in others:
        thread.start()
    run(0)
    for thread in others:
        thread.join()
    return max(ended) - min(started)


def _chain_function(lanes: int, chains: int) -> str:
    vector = f"<{lanes} x float>"
    indices = range(chains)
    phis = [f"  %a{i} = phi {vector} [ %start{i}, %entry ], [ %b{i}, %loop ]" for i in indices]
    fma = f"{vector} @llvm.fmuladd.v{lanes}f32"
    fmas = [f"  %b{i} = call {fma}({vector} %a{i}, {vector} %x, {vector} %y)" for i in indices]
    # Chains start apart: LLVM would merge twelve equal ones into one.
    starts = []
    for i in indices:
        constant = ", ".join(f"float {float(i + lane)}" for lane in range(lanes))
        starts.append(f"  %start{i} = fadd {vector} %y, <{constant}>")
    sums = [f"  %s0 = fadd {vector} %b0, %y"]
    sums += [f"  %s{i} = fadd {vector} %s{i - 1}, %b{i}" for i in range(1, chains)]
    declared = f"declare {fma}({vector}, {vector}, {vector})" if chains == _CHAINS[0] else ""
    wide = f'"min-legal-vector-width"="{32 * lanes}"'
    return "\n".join(
        [
            declared,
            f"define float @fma_{lanes}_{chains}(i64 %n, float %x0, float %y0) {wide} {{",
            "entry:",
            f"  %x1 = insertelement {vector} undef, float %x0, i32 0",
            f"  %x = shufflevector {vector} %x1, {vector} undef, <{lanes} x i32> zeroinitializer",
            f"  %y1 = insertelement {vector} undef, float %y0, i32 0",
            f"  %y = shufflevector {vector} %y1, {vector} undef, <{lanes} x i32> zeroinitializer",
            *starts,
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *phis,
            *fmas,
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *sums,
            f"  %r = extractelement {vector} %s{chains - 1}, i32 0",
            "  ret float %r",
            "}",
        ]
    )
