"""A compiled program that runs: memory, pointer tables, library nodes, errors.

A call borrows an arena from a pool, so that two Python threads may call at once (native code runs without the GIL).
Outputs are fresh tensors. What derives from parameters is computed by `bind` into memory of its own and replaced whole.
"""

from __future__ import annotations

import ctypes
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from strop.codegen.module import PREPARE
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.driver.artifact import Argument, Artifact, ConstantValues, InArena, LibraryStep, NativeStep, Slot
from strop.driver.pipeline import Stages, compile_graph, target_for
from strop.frontend.torch.dtypes import DTYPES, tensor_of
from strop.frontend.torch.library_nodes import DIRECT, resolve
from strop.frontend.torch.random_operators import is_random
from strop.graph.ir import Graph
from strop.runtime import bernoulli, jit, native_loop, reference
from strop.runtime.frames import BoundTensors, CallFrame, FramePool, OutOfRange, Place
from strop.runtime.packed import Packed, PackedStore, Sharing, allocate, dense, laid_out
from strop.runtime.recompute import Recomputation
from strop.runtime.release import Released, let_go, source
from strop.runtime.tensor_pool import empty
from strop.runtime.thread_count import usable_threads
from strop.runtime.threads import pool
from strop.target import host

Tensor = torch.Tensor
DIRECT["aten.bernoulli.p"] = bernoulli.draw
#: what the journal says of calls that have to be computed again
NOT_FINITE = (
    "a Winograd convolution met NaN, an infinity or an overflow, which it spreads over a tile: such calls are computed "
    "again with direct convolutions"
)


def build(graph: Graph, options: Options, journal: Journal, threads: int) -> NativeProgram:
    """Compile a graph (or find it in the cache) and make it callable."""
    compiled = compiled_for(graph, options, journal, threads)
    with journal.step("load"):
        return NativeProgram(compiled, options, with_direct_algorithms(graph, options, journal, threads))


def with_direct_algorithms(
    graph: Graph, options: Options, journal: Journal, threads: int
) -> Callable[[], NativeProgram] | None:
    """How to make the program that serves calls in which an algorithm that spreads what is not finite, Winograd's
    convolution, meets such a value; None where the parameters that it would need are given up."""
    if options.release:
        return None

    def make() -> NativeProgram:
        journal.add("fallback", "numerics", NOT_FINITE)
        return build(graph, options.direct, journal, threads)

    return make


def compiled_for(
    graph: Graph, options: Options, journal: Journal, threads: int, inspect: Callable[[Stages], None] | None = None
) -> Artifact:
    """The program for a graph as data."""
    _check_runs_here(options)
    return compile_graph(graph, options, journal, usable_threads(threads, journal), inspect)


def _check_runs_here(options: Options) -> None:
    """Code for another family of CPUs would not even load; vectors that this one lacks would end the process."""
    here, there = host.described_host(), target_for(options)
    if not there.runs_on(here):
        told = f"strop compile MODEL --target {there.name} says what it should take there"
        raise Problem("STR402", f"code for `{there.name}` does not run on this machine", help=told)


class NativeProgram:
    """Callable with the graph's inputs; returns its outputs, then the values of its mutations.

    `direct` makes the program that computes a call again in which a nest watched values that are not finite; without
    it such results are returned as they are.
    """

    def __init__(
        self,
        compiled: Artifact,
        options: Options,
        direct: Callable[[], NativeProgram] | None = None,
    ) -> None:
        self.compiled = compiled
        self._draws = any(_draws(step) for step in compiled.steps)
        functions = pool() if compiled.threads > 1 or compiled.about.threaded else None
        self._library = jit.LoadedCode(compiled.code, target_for(options))
        self._memory = FramePool(compiled, functions)
        self._again = Recomputation(direct if compiled.about.watches else None)
        self._prepare = self._entry(PREPARE) if compiled.sections else None
        self._steps: list[Callable[[CallFrame, dict[int, Tensor]], None]] = []
        self._only = None
        match compiled.steps:
            case (NativeStep(entry),):
                self._only = self._entry(entry)
            case steps:
                self._steps = [self._step(step) for step in steps]
        native = [output for output in compiled.outputs if not output.by_library]
        self._outputs = [(output.slot, DTYPES[output.type.dtype], output.type.shape) for output in native]
        self._results = [output.slot for output in compiled.outputs]
        self._fresh = [(slot, shape, _strides(shape), dtype) for slot, dtype, shape in self._outputs]

    @property
    def direct(self) -> Sequence[int]:
        """Which of the parameters a call reads as they are; of the others it reads what was packed."""
        return self.compiled.direct

    @property
    def packs(self) -> set[int]:
        """Which of them the parameter program reads."""
        return {position for section in self.compiled.sections for position in section.reads}

    def _entry(self, name: str) -> Any:
        """To be called with a frame's arguments as they are: it converts none."""
        entry: Any = ctypes.CFUNCTYPE(None)(self._library.address(name))
        entry.library = self._library
        return entry

    # ---- parameters ----

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        """Take the parameters as they are now. Folded and packed weights are computed again, unless `sharing` finds
        them: another program of the module has made them of the same values."""
        sharing = sharing or Sharing(PackedStore(), range(len(params)))
        compiled = self.compiled
        self._again.bind(params, sharing)
        with sharing.store.lock:
            known = [sharing.find(section.key, section.reads) for section in compiled.sections]
            missing = [i for i, found in enumerate(known) if found is None]
            fresh = self._pack(params, missing)
            made = [found or fresh[i] for i, found in enumerate(known)]
            for i in missing:
                sharing.keep(compiled.sections[i].key, compiled.sections[i].reads, fresh[i])
        packed = {
            compiled.packed[position].slot: (one.held, address)
            for one, section in zip(made, compiled.sections)
            for position, address in zip(section.makes, one.addresses)
        }
        tensors = {compiled.params[i]: dense(source(params[i]).detach()) for i in compiled.direct}
        self._memory.bound = BoundTensors(tensors, packed, made)

    def _pack(self, params: Sequence[Tensor], missing: Sequence[int], zeroed: bool = False) -> dict[int, Packed]:
        """Run some sections of the parameter program. What is read one after the other lies side by side."""
        if self._prepare is None or not missing:
            return {}
        compiled = self.compiled
        uses = Counter(p for i in missing for p in compiled.sections[i].reads)
        for p in (*uses, *compiled.direct):
            source(params[p])  # all are there, or nothing is packed
        order = sorted(position for i in missing for position in compiled.sections[i].makes)
        addresses, held = laid_out({position: compiled.packed[position].bytes for position in order})
        if zeroed:
            held.zero_()
        _temporary, temporary_address = allocate(compiled.temporary_bytes)
        frame = CallFrame(compiled, self._memory.functions)
        wanted = array("B", bytes(len(compiled.sections)))
        frame.slots[compiled.slots - 1] = wanted.buffer_info()[0]
        arguments = frame.with_arena(temporary_address)
        for position, address in addresses.items():
            frame.slots[compiled.packed[position].slot] = address
        for sections in _together(missing, [params[p] for p in uses]):
            read = Counter(p for i in sections for p in compiled.sections[i].reads)
            sources = {compiled.params[p]: dense(source(params[p]).detach()) for p in read}
            for slot in sources:
                frame.slots[slot] = sources[slot].data_ptr()
            for i in range(len(wanted)):
                wanted[i] = i in sections
            self._prepare(*arguments)
            del sources
            uses.subtract(read)
            for p in read:
                if not uses[p]:
                    let_go(params[p])
        if frame.status[0]:
            raise OutOfRange("index out of range in self")
        return {i: Packed(held, tuple(addresses[p] for p in compiled.sections[i].makes)) for i in missing}

    def packed_bytes(self, params: Sequence[Tensor]) -> dict[int, memoryview]:
        """What the parameter program makes of parameters, by slots; what it does not write is zero."""
        sections = range(len(self.compiled.sections))
        found: dict[int, memoryview] = {}
        for i, made in self._pack(params, sections, zeroed=True).items():
            for position, address in zip(self.compiled.sections[i].makes, made.addresses):
                one, start = self.compiled.packed[position], address - made.held.data_ptr()
                found[one.slot] = made.held[start : start + one.bytes].numpy().data
        return found

    # ---- calls ----

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        if self._memory.bound is None:
            self.bind(())
        frame, bound = self._frame()
        generator = torch.get_rng_state() if self._draws else None
        slots = frame.slots
        for slot, tensor in zip(self.compiled.inputs, inputs):
            slots[slot] = tensor.data_ptr()
        made: list[Tensor] = []
        for slot, shape, strides, dtype in self._fresh:
            tensor = empty(shape, strides, dtype)
            slots[slot] = tensor.data_ptr()
            made.append(tensor)
        if self._only is not None:
            self._only(*frame.arguments)
            results = tuple(made)
        else:
            results = self._run_steps(frame, bound, inputs, made)
        if self._memory.done(frame):
            return results
        if generator is not None:
            torch.set_rng_state(generator)
        return self._again.results(inputs, results)

    @property
    def one(self) -> Callable[[Sequence[Tensor]], Tensor] | None:
        """What a call does once parameters are bound, where it is one native entry with one result: see `_shortest`."""
        if self._only is None or len(self._fresh) != 1 or len(self.compiled.outputs) != 1:
            return None
        return _shortest(self._only, self._memory, self._again, *self._fresh[0])

    def _run_steps(
        self, frame: CallFrame, bound: BoundTensors, inputs: Sequence[Tensor], made: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        tensors: dict[int, Tensor] = dict(zip(self.compiled.inputs, inputs))
        tensors.update(bound.tensors)
        tensors.update((slot, tensor) for (slot, *_), tensor in zip(self._fresh, made))
        with torch.no_grad():
            for step in self._steps:
                step(frame, tensors)
        return tuple(tensors[slot] for slot in self._results)

    def _frame(self) -> tuple[CallFrame, BoundTensors]:
        bound = self._memory.bound
        assert bound is not None
        return self._memory.take(bound), bound

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
        only, (frame, _) = self._only, self._frame()
        assert only is not None
        slots = frame.slots
        for slot, address in zip(self.compiled.inputs, inputs):
            slots[slot] = address
        for (slot, _, _), address in zip(self._outputs, outputs):
            slots[slot] = address
        only(*frame.arguments)
        if not self._memory.done(frame) and (direct := self._again.bound()) is not None:
            direct.into(inputs, outputs)

    @property
    def entry_address(self) -> int:
        """Of a program that is one native entry, for callers with pointer tables of their own."""
        assert self._only is not None
        return ctypes.cast(self._only, ctypes.c_void_p).value or 0

    @property
    def slots_of_inputs(self) -> Sequence[int]:
        return self.compiled.inputs

    @property
    def slots_of_results(self) -> list[int]:
        return [slot for slot, _, _ in self._outputs]

    @property
    def repeats(self) -> bool:
        """Whether `repeat` may be called: every input and every result has a place of its own, and no round may have
        to be computed again."""
        places = [*self.slots_of_inputs, *self.slots_of_results]
        return self.writes_anywhere and len(set(places)) == len(places) and not self.compiled.about.watches

    def repeat(self, inputs: Sequence[int], outputs: Sequence[int], work: Sequence[int]) -> int:
        """As `into`, round after round (see `rounds`): the number of the round after the last one."""
        only, (frame, _) = self._only, self._frame()
        assert only is not None
        slots = frame.slots
        for slot, address in zip(self.compiled.inputs, inputs):
            slots[slot] = address
        for (slot, _, _), address in zip(self._outputs, outputs):
            slots[slot] = address
        table = (ctypes.c_int64 * len(work))(*work)
        done = native_loop.driver()(self.entry_address, *frame.arguments, ctypes.addressof(table))
        self._memory.done(frame)
        return int(done)

    # ---- steps ----

    def _step(self, step: NativeStep | LibraryStep) -> Callable[[CallFrame, dict[int, Tensor]], None]:
        if isinstance(step, NativeStep):
            entry = self._entry(step.entry)

            def native(frame: CallFrame, tensors: dict[int, Tensor]) -> None:
                entry(*frame.arguments)

            return native
        outputs, views, unused = step.outputs, step.views, step.releases
        readers = [_reader(argument) for argument in step.inputs]
        run = reference.runner(step.node, views)
        placed = {slot for slot, _ in self.compiled.placed}

        def call(frame: CallFrame, tensors: dict[int, Tensor]) -> None:
            results = run([read(frame, tensors) for read in readers])
            for slot, result in zip(outputs, results if isinstance(results, tuple) else (results,)):
                if slot in placed:
                    tensors[slot].copy_(result)
                    continue
                if not views:
                    result = result.detach().contiguous()
                    frame.slots[slot] = result.data_ptr()
                tensors[slot] = result
            for slot in unused:
                del tensors[slot]

        return call


def _shortest(
    entry: Any,
    memory: FramePool,
    again: Recomputation,
    place: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
) -> Callable[[Sequence[Tensor]], Tensor]:
    """A call with everything looked up beforehand: the code of a small network takes one microsecond."""
    free, take, places = memory.frames, memory.take, memory.compiled.inputs

    def call(inputs: Sequence[Tensor]) -> Tensor:
        bound = memory.bound
        assert bound is not None
        frame = take(bound)
        slots = frame.slots
        for slot, tensor in zip(places, inputs):
            slots[slot] = tensor.data_ptr()
        result: Tensor = empty(shape, strides, dtype)
        slots[place] = result.data_ptr()
        entry(*frame.arguments)
        if frame.status[0]:
            return result if memory.done(frame) else again.results(inputs, (result,))[0]
        free.append(frame)
        return result

    return call


def _draws(step: NativeStep | LibraryStep) -> bool:
    """Whether a step takes numbers from torch's generator."""
    return isinstance(step, LibraryStep) and step.op == "aten" and is_random(resolve(step.attrs["target"]))


def _together(sections: Sequence[int], params: Sequence[Tensor]) -> list[Sequence[int]]:
    """All sections at once, unless that takes copies of parameters, or some are to go as soon as they are packed: then
    one after the other."""
    plain = all(not isinstance(p, Released) and p.is_contiguous() and not (p.is_neg() or p.is_conj()) for p in params)
    return [sections] if plain else [[section] for section in sections]


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return torch.empty(shape, device="meta").stride()


def _reader(argument: Argument) -> Callable[[CallFrame, dict[int, Tensor]], Tensor]:
    where, type = argument.place, argument.type
    if isinstance(where, ConstantValues):
        made = tensor_of(where.data, type)
        return lambda frame, tensors: made
    if isinstance(where, Slot):
        slot = where.slot
        return lambda frame, tensors: tensors[slot]
    at = where.offset if isinstance(where, InArena) else where.slot
    place: Place = (isinstance(where, InArena), at, type.dtype, type.shape)
    return lambda frame, tensors: frame.view(place)
