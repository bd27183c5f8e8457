"""What compiling a graph makes: object code, and everything that the runtime has to know to call it. Data only.

`verify` says whether the parts fit together, without running any of them. `artifact_format` writes an artifact as
bytes, and reads it from bytes that nobody vouches for. Only `program.NativeProgram` executes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from strop.core.dtypes import SIZES
from strop.core.problem import Problem
from strop.frontend.torch.dtypes import bytes_of
from strop.frontend.torch.library_nodes import is_known
from strop.graph.infer import infer
from strop.graph.ir import Node, Type
from strop.graph.operators import is_operator

#: no process has more memory than this
MOST_BYTES = 1 << 47
MOST_THREADS = 1 << 16
_TARGET = re.compile(r"[A-Za-z_]\w*\.\w+\.\w+", re.ASCII)  # of a library call: namespace, name, overload


# ---- where the tensor is that a library step reads -------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """A tensor that the caller, the parameters or an earlier library step own: the slot of its pointer."""

    slot: int


@dataclass(frozen=True)
class InArena:
    """An intermediate tensor of native code: bytes from the start of the arena."""

    offset: int


@dataclass(frozen=True)
class InPacked:
    """A tensor that the parameter program made: the slot of its pointer."""

    slot: int


@dataclass(frozen=True)
class ConstantValues:
    """A tensor that is known already: its elements in row-major order, as they lie in memory."""

    data: bytes

    @staticmethod
    def of(values: Sequence[Any], dtype: str) -> ConstantValues:
        return ConstantValues(bytes_of(values, dtype))


@dataclass(frozen=True)
class Argument:
    """An input of a library step."""

    type: Type
    place: Slot | InArena | InPacked | ConstantValues


# ---- steps -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NativeStep:
    """Call a function of the object code."""

    entry: str


@dataclass(frozen=True)
class LibraryStep:
    """Run a node of the graph by its reference meaning or by its ATen kernel."""

    op: str
    attrs: Mapping[str, Any]  # those of the node: numbers, strings, tuples and None
    types: tuple[Type, ...]  # of its results
    inputs: tuple[Argument, ...]
    outputs: tuple[int, ...]  # a slot for each result
    views: bool  # nobody needs its results in a layout of their own: they stay as the operator gives them
    releases: tuple[int, ...] = ()  # slots that no later step reads: their memory is free again

    @property
    def node(self) -> Node:
        inputs = tuple(Node("input", types=(argument.type,)) for argument in self.inputs)
        return Node(self.op, inputs, self.attrs, self.types)


def native_entry(position: int) -> str:
    """The name of the function that a step calls which stands there."""
    return f"strop_run{position}"


# ---- the whole -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """A result of the program."""

    slot: int
    type: Type
    by_library: bool  # a library step makes the tensor; otherwise the caller does, and native code fills it


@dataclass(frozen=True)
class PackedTensor:
    """Memory for something that is computed from parameters when these change."""

    slot: int
    bytes: int


@dataclass(frozen=True)
class ParameterSection:
    """A part of the parameter program that can run by itself."""

    key: str  # a hash of what it computes: programs of other shapes may have the same section
    reads: tuple[int, ...]  # positions in `params`
    makes: tuple[int, ...]  # positions in `packed`


@dataclass(frozen=True)
class About:
    """What people are told of a program, and what a caller has to know of its numerics."""

    nodes: int
    nests: int
    functions: int
    threaded: bool  # threads share some nest
    unshared_bytes: int  # what the arena would take if no tensors shared memory
    watches: bool  # some nest tells whether it met values that are not finite
    library: Mapping[str, int] = field(default_factory=dict)  # what library steps call, and how often
    sources: tuple[str, ...] = ()  # SHA-256 of the LLVM text of each object but the last


@dataclass(frozen=True)
class Artifact:
    """A program as data."""

    code: tuple[bytes, ...]  # objects that are loaded together
    steps: tuple[NativeStep | LibraryStep, ...]
    inputs: tuple[int, ...]  # slots
    params: tuple[int, ...]  # slots
    direct: tuple[int, ...]  # positions of the parameters that steps read as they are
    outputs: tuple[Output, ...]
    slots: int  # pointers in the table; the last one is for the parameter program's own use
    arena_bytes: int
    placed: tuple[tuple[int, int], ...]  # slots of tensors that lie in the arena, and their places: of a training step
    packed: tuple[PackedTensor, ...]  # what derives from parameters, in the order of its use
    sections: tuple[ParameterSection, ...]
    temporary_bytes: int  # what the parameter program needs while it runs
    scratch_bytes: int  # for each thread
    threads: int
    about: About

    @property
    def packed_bytes(self) -> int:
        return sum(one.bytes for one in self.packed)

    @property
    def memory(self) -> str:
        """What it needs beside the parameters themselves, in words."""
        arena, packed = self.arena_bytes / 2**20, self.packed_bytes / 2**20
        return f"{arena:.1f} MB for intermediate tensors, {packed:.1f} MB of folded and packed weights"

    def verify(self) -> None:
        """Raise where the parts contradict each other. Object code is bytes here: nobody can say what it does."""
        for fault in _faults(self):
            raise unusable(fault)


def unusable(why: str) -> Problem:
    return Problem("STR504", f"not a compiled program that can be used: {why}", help="compile the model again")


# ---- faults ----------------------------------------------------------------------------------------------------------


def _faults(artifact: Artifact) -> Iterator[str]:
    if not 1 <= artifact.threads <= MOST_THREADS:
        yield f"it runs on {artifact.threads} threads"
    needs = (artifact.arena_bytes, artifact.packed_bytes, artifact.temporary_bytes)
    if max(*needs, artifact.scratch_bytes * artifact.threads) > MOST_BYTES:
        yield "it needs more memory than any machine has"
    for i, output in enumerate(artifact.outputs):
        for fault in _type_faults(output.type):
            yield f"output {i} {fault}"
    yield from _slot_faults(artifact)
    yield from _parameter_faults(artifact)
    yield from _step_faults(artifact)


def _slot_faults(artifact: Artifact) -> Iterator[str]:
    """Every slot but the last belongs to one tensor, and what is placed lies inside the arena."""
    placed = dict(artifact.placed)
    borders = {*artifact.inputs, *(output.slot for output in artifact.outputs)}
    if not borders.issuperset(placed) or any(not 0 <= at < artifact.arena_bytes for at in placed.values()):
        yield "a tensor is placed that is neither input nor output, or outside the arena"
    for i, output in enumerate(artifact.outputs):
        if placed.get(output.slot, 0) + output.type.bytes > artifact.arena_bytes and output.slot in placed:
            yield f"output {i} ends outside the arena"
    made = [slot for step in artifact.steps if isinstance(step, LibraryStep) for slot in step.outputs]
    for i, output in enumerate(artifact.outputs):
        if output.by_library != (output.slot in made and output.slot not in placed):
            yield f"output {i} is made by nobody, or twice"
    native = [output.slot for output in artifact.outputs if output.slot not in made]
    owned = sorted((*artifact.inputs, *artifact.params, *native, *made, *(one.slot for one in artifact.packed)))
    if len(owned) != artifact.slots - 1 or owned != list(range(len(owned))):
        yield f"{len(owned)} tensors do not fill the slots of a table of {artifact.slots}"


def _parameter_faults(artifact: Artifact) -> Iterator[str]:
    params, packed = range(len(artifact.params)), range(len(artifact.packed))
    if any(i not in params for i in artifact.direct):
        yield "it reads a parameter that it does not have"
    for i, section in enumerate(artifact.sections):
        if any(read not in params for read in section.reads):
            yield f"section {i} of the parameter program reads a parameter that there is not"
    made = [position for section in artifact.sections for position in section.makes]
    if sorted(made) != list(packed):
        yield "the parameter program does not make every packed tensor once"


def _type_faults(type: Type) -> Iterator[str]:
    if type.dtype not in SIZES:
        yield f"has the unknown dtype {type.dtype!r}"
    elif any(extent < 0 for extent in type.shape):
        yield f"has the shape {type.shape}"
    elif prod(max(extent, 1) for extent in type.shape) * SIZES[type.dtype] > MOST_BYTES:
        yield f"of shape {type.shape} is larger than any memory"


def _step_faults(artifact: Artifact) -> Iterator[str]:
    """Steps in their order, with the slots whose tensors are there by then."""
    held = {*artifact.inputs, *(one.slot for one in artifact.outputs if not one.by_library)}
    held.update(artifact.params[i] for i in artifact.direct)
    sizes = {one.slot: one.bytes for one in artifact.packed}
    for i, step in enumerate(artifact.steps):
        if isinstance(step, NativeStep):
            if step.entry != native_entry(i):
                yield f"step {i} calls {step.entry!r}, not {native_entry(i)!r}"
            continue
        yield from (f"step {i} {fault}" for fault in _node_faults(step))
        for k, argument in enumerate(step.inputs):
            yield from (f"step {i}, input {k} {fault}" for fault in _place_faults(argument, artifact, held, sizes))
        held.update(step.outputs)
        if not held.issuperset(step.releases):
            yield f"step {i} releases what is not there"
        held.difference_update(step.releases)
    if not held.issuperset(one.slot for one in artifact.outputs):
        yield "an output is released before the end"


def _node_faults(step: LibraryStep) -> Iterator[str]:
    """A library step is a node: the operator set says what it has to be."""
    types = (*step.types, *(argument.type for argument in step.inputs))
    faults = [fault for one in types for fault in _type_faults(one)]
    if faults or not is_operator(step.op):
        yield f"has a tensor that {faults[0]}" if faults else f"runs the unknown operator {step.op!r}"
        return
    if len(step.outputs) != len(step.types):
        yield f"has {len(step.types)} results and {len(step.outputs)} slots for them"
    if step.op == "aten":
        yield from _call_faults(step)
        return
    try:
        inferred = infer(step.op, step.node.inputs, step.attrs, step.types)
    except Exception as error:  # attributes may be anything at all
        yield f"is no `{step.op}`: {error}"
        return
    if inferred != step.types:
        yield f"does not make what a `{step.op}` makes"


def _call_faults(step: LibraryStep) -> Iterator[str]:
    target, args, kwargs = (step.attrs.get(name) for name in ("target", "args", "kwargs"))
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        yield f"calls {target!r}, which is no operator's name"
        return
    if not is_known(target):
        yield f"calls `{target}`, an operator that the installed PyTorch does not have"
    if not isinstance(args, tuple) or not isinstance(kwargs, tuple):
        yield "calls an operator without arguments"
        return
    if not all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in kwargs):
        yield "has keyword arguments without names"
        return
    for number in (*_inputs_of(args), *_inputs_of(tuple(value for _, value in kwargs))):
        if type(number) is not int or not 0 <= number < len(step.inputs):
            yield f"takes the argument {number!r} of {len(step.inputs)}"


def _inputs_of(value: Any) -> Iterator[Any]:
    """The inputs that a template of arguments (see `frontend.torch.library_nodes`) names."""
    if isinstance(value, tuple):
        if len(value) == 2 and value[0] == "%":
            yield value[1]
        else:
            for part in value:
                yield from _inputs_of(part)


def _place_faults(argument: Argument, artifact: Artifact, held: set[int], sizes: Mapping[int, int]) -> Iterator[str]:
    place, size = argument.place, argument.type.bytes
    if isinstance(place, Slot):
        if place.slot not in held:
            yield f"is in slot {place.slot}, which is empty by then"
    elif isinstance(place, InArena):
        if place.offset < 0 or place.offset + size > artifact.arena_bytes:
            yield f"ends {place.offset + size} bytes into an arena of {artifact.arena_bytes}"
        elif place.offset % SIZES[argument.type.dtype]:
            yield f"starts {place.offset} bytes into the arena, between two elements"
    elif isinstance(place, InPacked):
        if size > sizes.get(place.slot, -1):
            yield f"is no packed tensor of slot {place.slot}"
    elif len(place.data) != size:
        yield f"has {len(place.data)} bytes of values where it takes {size}"
    elif argument.type.dtype == "bool" and place.data.translate(None, b"\0\1"):
        yield "has truth values that are neither 0 nor 1"
