"""Compiles one scalar or vector function written with `CodeBlock` and runs it over NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np

from strop.codegen.builder import ELEMENT, CodeBlock, Names, type_of

NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
STORED = {**ELEMENT, "bool": "i8"}

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

Emit = Callable[[CodeBlock, tuple[str, ...]], str]


class Compiled:
    """`emit(block, names)` applied to whole arrays, `lanes` elements at a time; the length must be a multiple."""

    def __init__(self, emit: Emit, sources: tuple[str, ...], target: str, lanes: int, fused: bool = True) -> None:
        names = Names(fused)
        block = CodeBlock(names)
        step = lanes or 1
        loaded = []
        for i, dtype in enumerate(sources):
            place = block.let(f"getelementptr {STORED[dtype]}, ptr %p{i}, i64 %at")
            kind = f"<{lanes} x {STORED[dtype]}>" if lanes else STORED[dtype]
            value = block.let(f"load {kind}, ptr {place}, align 1")
            if dtype == "bool":
                value = block.let(f"trunc {kind} {value} to {type_of('bool', lanes)}")
            loaded.append(value)
        result = emit(block, tuple(loaded))
        kind = f"<{lanes} x {STORED[target]}>" if lanes else STORED[target]
        if target == "bool":
            result = block.let(f"zext {type_of('bool', lanes)} {result} to {kind}")
        place = block.let(f"getelementptr {STORED[target]}, ptr %out, i64 %at")
        block.emit(f"store {kind} {result}, ptr {place}, align 1")
        pointers = ", ".join(f"ptr noalias %p{i}" for i in range(len(sources)))
        self.text = "\n".join((
            *names.declared,
            f"define void @run(ptr noalias %out, i64 %n, {pointers}) {{",
            "entry:\n  br label %loop",
            "loop:\n  %at = phi i64 [0, %entry], [%next, %loop]",
            *block.lines,
            f"  %next = add i64 %at, {step}\n  %more = icmp ult i64 %next, %n",
            "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}",
        ))  # fmt: skip
        self.step, self.target = step, target
        module = llvm.parse_assembly(self.text)
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
        )
        self.assembly = machine.emit_assembly(module)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * len(sources))(
            self.engine.get_function_address("run")
        )

    def loop(self, cpu: str) -> list[str]:
        """The instructions of one turn, compiled for an x86 machine that need not be this one."""
        machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu=cpu, opt=2)
        lines = machine.emit_assembly(llvm.parse_assembly(self.text)).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith(".LBB0_"))
        end = next(i for i in range(start, len(lines)) if lines[i].startswith("\tj"))
        return [line.strip() for line in lines[start + 1 : end] if line.startswith("\t") and line[1] not in ".#"]

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        size = arrays[0].size
        padded = [np.ascontiguousarray(np.resize(a, -(-size // self.step) * self.step)) for a in arrays]
        out = np.empty(padded[0].size, NUMPY[self.target])
        self.function(out.ctypes.data, out.size, *[a.ctypes.data for a in padded])
        return out[:size]
