"""A compiled program that runs: memory, pointer tables, library nodes, errors.

A call borrows an arena from a pool, so that two Python threads may call at once (native code runs without the GIL).
Outputs are fresh tensors. What derives from parameters is computed by `bind` into memory of its own and replaced whole.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from strop.capture.types import DTYPES
from strop.core.config import Options
from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.graph.ir import Graph, Node, Type
from strop.run import jit, reference, rounds
from strop.run.pipeline import Compiled, Stages, compile_graph, target_for
from strop.run.threads import pool

Tensor = torch.Tensor
_ALIGNMENT = 64
_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)


def build(graph: Graph, options: Options, journal: Journal, threads: int) -> NativeProgram:
    """Compile a graph (or find it in the cache) and make it callable."""
    compiled = compiled_for(graph, options, journal, threads)
    with journal.step("load"):
        return NativeProgram(compiled, options)


def compiled_for(
    graph: Graph, options: Options, journal: Journal, threads: int, inspect: Callable[[Stages], None] | None = None
) -> Compiled:
    """The program for a graph as data, measured where the options ask for it."""
    _check_runs_here(options)
    if not options.measure:
        return compile_graph(graph, options, journal, threads, inspect)
    from strop.run.measure import improve

    seen: list[Stages] = []
    compiled = compile_graph(graph, options, journal, threads, seen.append)
    better, stages = improve(graph, compiled, seen[0] if seen else None, options, journal, compiled.threads)
    if inspect is not None and stages is not None:
        inspect(stages)
    return better


def _check_runs_here(options: Options) -> None:
    """Code for another family of CPUs would not even load."""
    here, there = jit.described_host(), target_for(options)
    if there.triple.partition("-")[0] != here.triple.partition("-")[0]:
        told = f"strop compile MODEL --target {there.name} says what it should take there"
        raise Problem("STR402", f"code for `{there.name}` does not run on this machine", help=told)


def _memory(size: int) -> tuple[Tensor, int]:
    """Aligned bytes and their address; large blocks in huge pages, where the system has them to give.

    Measured on 324 MB of packed weights: filling them takes 0.16 s instead of 0.27, half of which were page faults; on
    1 MB of recurrent weights that every step reads: 3% less per step.
    """
    alignment = _HUGE_PAGE if size >= _HUGE_PAGE // 2 else _ALIGNMENT
    whole = -(-max(size, 1) // alignment) * alignment
    held = torch.empty(whole + alignment, dtype=torch.uint8)
    address = -(-held.data_ptr() // alignment) * alignment
    if alignment == _HUGE_PAGE and _MADV_HUGEPAGE is not None:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(whole), _MADV_HUGEPAGE)
    return held, address


def _view(held: Tensor, address: int, offset: int, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor over planned memory."""
    element = DTYPES[dtype]
    start = address + offset - held.data_ptr()
    count = 1
    for extent in shape:
        count *= extent
    size = count * element.itemsize
    return held[start : start + size].view(element).view(shape) if size else torch.empty(shape, dtype=element)


class OutOfRange(IndexError, RuntimeError):
    """Eager raises the first for `x[i]` and embeddings, the second for `gather` and `scatter`."""


@dataclass
class _Bound:
    """Parameters as of one moment, and what was computed from them."""

    tensors: list[Tensor]
    packed: Tensor
    address: int


class _Frame:
    """What one call needs for itself: an arena, scratch, the pointer table and the runtime table."""

    def __init__(self, program: NativeProgram) -> None:
        compiled = program.compiled
        self.bound: _Bound | None = None
        self.arena, self.arena_address = _memory(compiled.arena_bytes)
        stride = compiled.scratch_bytes
        self.scratch, scratch_address = _memory(stride * compiled.threads)
        self.slots = (ctypes.c_void_p * max(compiled.slots, 1))()
        self.status = ctypes.c_int64(0)
        functions = program.pool
        self.table = (ctypes.c_void_p * 8)(
            ctypes.addressof(self.status),
            functions.parallel if functions else None,
            functions.thread_num if functions else None,
            functions.num_threads if functions else None,
            scratch_address,
            compiled.threads,
            stride,
            functions.barrier if functions else None,
        )
        self.arguments = (ctypes.addressof(self.table), self.arena_address)
        self.slots_address = ctypes.addressof(self.slots)


class NativeProgram:
    """Callable with the graph's inputs; returns its outputs, then the values of its mutations."""

    def __init__(self, compiled: Compiled, options: Options) -> None:
        self.compiled = compiled
        self.pool = pool() if compiled.threads > 1 or compiled.about.get("threaded") else None
        self._library = jit.Library(compiled.code, target_for(options))
        self._frames: list[_Frame] = []
        self._bound: _Bound | None = None
        self._prepare = self._entry("strop_prepare") if compiled.prepare else None
        self._steps: list[Callable[[_Frame, dict[int, Tensor]], None]] = []
        self._only = None
        if len(compiled.steps) == 1 and compiled.steps[0][0] == "native":
            self._only = self._entry(compiled.steps[0][1])
        else:
            self._steps = [self._step(step) for step in compiled.steps]
        self._outputs = [(slot, DTYPES[dtype], shape) for slot, dtype, shape, made in compiled.outputs if not made]

    def _entry(self, name: str) -> Any:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return kind(self._library.address(name))

    # ---- parameters ----

    def bind(self, params: Sequence[Tensor]) -> None:
        """Take the parameters as they are now; folded and packed weights are computed again."""
        tensors = [p.detach().contiguous() for p in params]
        held, address = _memory(self.compiled.packed_bytes)
        bound = _Bound(tensors, held, address)
        if self._prepare is not None:
            frame = self._take(bound)
            self._prepare(*frame.arguments, address, frame.slots_address)
            self._give_back(frame)
        self._bound = bound

    # ---- calls ----

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        bound = self._bound
        if bound is None:
            self.bind(())
            bound = self._bound
            assert bound is not None
        frame = self._take(bound)
        slots = frame.slots
        for slot, tensor in zip(self.compiled.inputs, inputs):
            slots[slot] = tensor.data_ptr()
        if self._only is not None:
            made = []
            for slot, dtype, shape in self._outputs:
                tensor = torch.empty(shape, dtype=dtype)
                slots[slot] = tensor.data_ptr()
                made.append(tensor)
            self._only(*frame.arguments, bound.address, frame.slots_address)
            results = tuple(made)
        else:
            results = self._run_steps(frame, inputs, bound)
        if frame.status.value:
            frame.status.value = 0
            self._give_back(frame)
            raise OutOfRange("index out of range in self")
        self._give_back(frame)
        return results

    @property
    def writes_anywhere(self) -> bool:
        """Whether `into` may be called: one native entry, no outputs but its own, of types that NumPy has."""
        own = self._only is not None and len(self._outputs) == len(self.compiled.outputs)
        return own and all(dtype != torch.bfloat16 for _, dtype, _ in self._outputs)

    @property
    def results(self) -> list[tuple[torch.dtype, tuple[int, ...]]]:
        """Types and shapes of what `into` writes."""
        return [(dtype, shape) for _, dtype, shape in self._outputs]

    def into(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """As a call, with inputs and results at addresses that the caller owns."""
        bound, only = self._bound, self._only
        assert bound is not None and only is not None
        frame = self._take(bound)
        slots = frame.slots
        for slot, address in zip(self.compiled.inputs, inputs):
            slots[slot] = address
        for (slot, _, _), address in zip(self._outputs, outputs):
            slots[slot] = address
        only(*frame.arguments, bound.address, frame.slots_address)
        failed = frame.status.value
        frame.status.value = 0
        self._give_back(frame)
        if failed:
            raise OutOfRange("index out of range in self")

    @property
    def slots_of_inputs(self) -> list[int]:
        return self.compiled.inputs

    @property
    def slots_of_results(self) -> list[int]:
        return [slot for slot, _, _ in self._outputs]

    @property
    def repeats(self) -> bool:
        """Whether `repeat` may be called: every input and every result has a place of its own."""
        places = [*self.slots_of_inputs, *self.slots_of_results]
        return self.writes_anywhere and len(set(places)) == len(places)

    def repeat(self, inputs: Sequence[int], outputs: Sequence[int], work: Sequence[int]) -> int:
        """As `into`, round after round (see `rounds`): the number of the round after the last one."""
        bound, only = self._bound, self._only
        assert bound is not None and only is not None
        frame = self._take(bound)
        slots = frame.slots
        for slot, address in zip(self.compiled.inputs, inputs):
            slots[slot] = address
        for (slot, _, _), address in zip(self._outputs, outputs):
            slots[slot] = address
        entry = ctypes.cast(only, ctypes.c_void_p).value
        table = (ctypes.c_int64 * len(work))(*work)
        done = rounds.driver()(entry, *frame.arguments, bound.address, frame.slots_address, ctypes.addressof(table))
        failed = frame.status.value
        frame.status.value = 0
        self._give_back(frame)
        if failed:
            raise OutOfRange("index out of range in self")
        return int(done)

    def _run_steps(self, frame: _Frame, inputs: Sequence[Tensor], bound: _Bound) -> tuple[Tensor, ...]:
        tensors: dict[int, Tensor] = dict(zip(self.compiled.inputs, inputs))
        tensors.update(zip(self.compiled.params, bound.tensors))
        for slot, dtype, shape in self._outputs:
            tensors[slot] = torch.empty(shape, dtype=dtype)
            frame.slots[slot] = tensors[slot].data_ptr()
        with torch.no_grad():
            for step in self._steps:
                step(frame, tensors)
        return tuple(tensors[slot] for slot, *_ in self.compiled.outputs)

    def _take(self, bound: _Bound) -> _Frame:
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self)
        if frame.bound is not bound:
            for slot, tensor in zip(self.compiled.params, bound.tensors):
                frame.slots[slot] = tensor.data_ptr()
            frame.bound = bound
        return frame

    def _give_back(self, frame: _Frame) -> None:
        self._frames.append(frame)

    # ---- steps ----

    def _step(self, step: tuple[Any, ...]) -> Callable[[_Frame, dict[int, Tensor]], None]:
        if step[0] == "native":
            entry = self._entry(step[1])

            def native(frame: _Frame, tensors: dict[int, Tensor]) -> None:
                assert frame.bound is not None
                entry(*frame.arguments, frame.bound.address, frame.slots_address)
                if frame.status.value:
                    return

            return native
        _, op, attrs, types, shapes, places, outputs, name = step
        stand_ins = tuple(Node("input", types=(Type(*shape),)) for shape in shapes)
        node = Node(op, stand_ins, attrs, tuple(Type(*t) for t in types), name)
        readers = [_reader(place) for place in places]
        run = reference.runner(node)

        def library(frame: _Frame, tensors: dict[int, Tensor]) -> None:
            results = run([read(frame, tensors) for read in readers])
            for slot, result in zip(outputs, results if isinstance(results, tuple) else (results,)):
                dense = result.detach().contiguous()
                tensors[slot] = dense
                frame.slots[slot] = dense.data_ptr()

        return library


def _reader(place: tuple[Any, ...]) -> Callable[[_Frame, dict[int, Tensor]], Tensor]:
    kind, *rest = place
    if kind == "slot":
        return lambda frame, tensors: tensors[rest[0]]
    if kind == "const":
        values, dtype, shape = rest
        made = torch.tensor(values, dtype=DTYPES[dtype]).view(shape)
        return lambda frame, tensors: made
    offset, dtype, shape = rest
    if kind == "arena":
        return lambda frame, tensors: _view(frame.arena, frame.arena_address, offset, dtype, shape)

    def packed(frame: _Frame, tensors: dict[int, Tensor]) -> Tensor:
        assert frame.bound is not None
        return _view(frame.bound.packed, frame.bound.address, offset, dtype, shape)

    return packed
