"""A lowered program: nests and library calls in order, over buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.core.extents import Symbol, symbols
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.graph.ir import Node
from strop.loops.ir import Buffer, Nest
from strop.loops.layout import Layout


@dataclass(frozen=True)
class LibraryCall:
    """A node that runs outside generated code: an ATen kernel, or the reference meaning of our own operator."""

    node: Node
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    why: str

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def target(self) -> str:
        """What is called, for people and for counting: `aten.sort.default`, or the operator's own name."""
        return str(self.node.attrs["target"]) if self.node.op == "aten" else self.node.op

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return symbols(extent for buffer in self.touched for extent in buffer.shape)

    def __str__(self) -> str:
        inputs = ", ".join(buffer.name for buffer in self.inputs)
        outputs = ", ".join(map(str, self.outputs))
        return f"# library: {self.why}\ncall {self.target}({inputs}) -> {outputs}"


Step = Nest | LibraryCall


def require_numbers(step: Step | Lowered, name: str = "") -> None:
    """Refuse what has symbolic extents, which layouts, schedules and code generation do not know yet."""
    if not step.symbols:
        return
    known = ", ".join(map(str, step.symbols))
    values = ", ".join(f"'{symbol.name}': {symbol.high}" for symbol in step.symbols)
    raise Problem(
        "STR307",
        f"{name or 'the program'} has symbolic extents ({known}); layouts, schedules and code need numbers",
        where=step.origin if isinstance(step, Nest) else "",
        help=f"give each symbol a number, as in `graph.bind({{{values}}})`, and compile that graph",
    )


@dataclass(frozen=True)
class Lowered:
    """A program as steps over buffers.

    `outputs` follow the graph's outputs, then the values of its mutations; no buffer occurs twice among them and none
    is an input or a parameter. `constants` holds the elements, in row-major order, of buffers of space `const`.
    """

    nests: tuple[Step, ...]
    inputs: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    buffers: Mapping[Node, Buffer]
    constants: Mapping[Buffer, tuple[Any, ...]] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)  # tensors that were given one by a pass
    channels_last: frozenset[str] = frozenset()  # images that the caller keeps that way, by name
    handed: frozenset[str] = frozenset()  # those among them that nests still write channels first
    once: tuple[Nest, ...] = ()  # what parameters alone decide: done when these change

    @cached_property
    def library(self) -> tuple[LibraryCall, ...]:
        return tuple(step for step in self.nests if isinstance(step, LibraryCall))

    @cached_property
    def steps(self) -> Mapping[str, Step]:
        """What every call of the program runs, by name."""
        return {step.name: step for step in self.nests}

    @cached_property
    def tensors(self) -> Mapping[str, Buffer]:
        """The tensors that passes can name: what steps read and write, by name."""
        found: dict[str, Buffer] = {}
        for step in self.nests:
            for buffer in (*reads(step), *writes(step)):
                found.setdefault(buffer.name, buffer)
        return found

    @cached_property
    def readers(self) -> Mapping[Buffer, tuple[int, ...]]:
        """The places of the steps that read each tensor."""
        return _places(reads(step) for step in self.nests)

    @cached_property
    def writers(self) -> Mapping[Buffer, tuple[int, ...]]:
        """The places of the steps that write each tensor."""
        return _places(writes(step) for step in self.nests)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols in the extents of its loops and buffers, by name."""
        return tuple(sorted({symbol for step in (*self.once, *self.nests) for symbol in step.symbols}))

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.nests))


def reads(step: Step) -> tuple[Buffer, ...]:
    return step.inputs if isinstance(step, LibraryCall) else step.reads


def writes(step: Step) -> tuple[Buffer, ...]:
    return step.outputs if isinstance(step, LibraryCall) else step.writes


def _places(touched: Iterable[tuple[Buffer, ...]]) -> dict[Buffer, tuple[int, ...]]:
    found: dict[Buffer, list[int]] = {}
    for place, buffers in enumerate(touched):
        for buffer in dict.fromkeys(buffers):
            found.setdefault(buffer, []).append(place)
    return {buffer: tuple(places) for buffer, places in found.items()}
