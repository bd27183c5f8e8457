"""A lowered program: nests and library calls in order, over buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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

    def __str__(self) -> str:
        inputs = ", ".join(buffer.name for buffer in self.inputs)
        outputs = ", ".join(map(str, self.outputs))
        return f"# library: {self.why}\ncall {self.target}({inputs}) -> {outputs}"


Step = Nest | LibraryCall


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
    once: tuple[Nest, ...] = ()  # what parameters alone decide: done when these change

    @property
    def library(self) -> tuple[LibraryCall, ...]:
        return tuple(step for step in self.nests if isinstance(step, LibraryCall))

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.nests))
