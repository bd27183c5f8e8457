"""What a session answers with: frozen data that prints, compares and becomes JSON.

Names are those of the model: `producer` and `consumer` are nodes or nests, `tensor` is a buffer, `origins` are lines of
Python. Bytes and cycles are counts of one call.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from strop.core.json_data import JsonData
from strop.core.passes import Pass
from strop.draw.layout import Arrow, homes, labelled
from strop.draw.notebook import graph_html
from strop.graph.ir import Origin
from strop.runtime.numeric_check import NumericCheck

#: where a value can be when it is read, the nearest first
MEMORY = ("registers", "L1", "L2", "L3", "DRAM")
ViewLevel = Literal["captured", "graph", "nests", "fused", "plan"]
#: what can be looked at: the graph as it was captured and as it was simplified; nests before and after fusion; the plan
VIEW_LEVELS: tuple[ViewLevel, ...] = ("captured", "graph", "nests", "fused", "plan")


# ---- graphs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgramNode(JsonData):
    """A node of a program at some level: an operator, a nest, a library call, an input or a parameter."""

    name: str
    kind: Literal["operator", "nest", "library", "input", "parameter", "constant"]
    what: str  # the operator, or what a nest computes: "conv + relu"
    module: str  # dotted path of the nn.Module
    origins: tuple[Origin, ...]  # every line of Python that it came from
    type: str  # of its results: "f32[1,64,56,56]"
    bytes_read: int
    bytes_written: int
    flop: int
    cycles: float | None = None  # predicted, at the level `plan`
    computes: tuple[str, ...] = ()  # of an operator: the steps of the plan that compute it; of those: the operators


@dataclass(frozen=True)
class Edge(JsonData):
    """A tensor on its way from who makes it to who reads it."""

    producer: str
    consumer: str
    tensor: str
    type: str
    bytes: int  # of the tensor that the consumer reads, each element once
    traffic: Mapping[str, int]  # bytes that come from each of `MEMORY` while the consumer runs
    fused: bool = False  # producer and consumer are parts of one nest

    @property
    def comes_from(self) -> str:
        """The farthest memory that the tensor comes from."""
        return next((name for name in reversed(MEMORY) if self.traffic.get(name)), MEMORY[0])

    derived = ("comes_from",)


@dataclass(frozen=True)
class ProgramView(JsonData):
    """A program at one level, as a graph."""

    level: ViewLevel
    nodes: tuple[ProgramNode, ...]
    edges: tuple[Edge, ...]

    def _repr_html_(self) -> str:
        """As a notebook shows it: parameters are left out, edges are as wide as the bytes that they carry."""
        nodes = [node for node in self.nodes if node.kind not in ("parameter", "constant")]
        inside = homes({node.name: node.module for node in nodes})
        items = [labelled(node.name, inside[node.name], node.what) for node in nodes]
        links = [Arrow(edge.producer, edge.consumer, float(edge.bytes)) for edge in self.edges]
        return graph_html(f"level `{self.level}`", items, links, {node.name: node.what for node in nodes})


# ---- fusion ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fusion(JsonData):
    """Two nests that became one."""

    producer: str
    consumer: str
    rule: str  # inline, epilogue, share loops, scale weights
    nest: str  # what they are a part of now
    saved_bytes: int


@dataclass(frozen=True)
class Refusal(JsonData):
    """Why one rule does not make one nest of two."""

    producer: str
    consumer: str
    rule: str
    reason: str
    needs: str  # what would have to be different


@dataclass(frozen=True)
class WhyNot(JsonData):
    """Why two neighbours are not one nest; or that they are."""

    producer: str
    consumer: str
    fused: bool
    rule: str  # the fusion that is nearest to being legal
    reason: str
    needs: str
    enabled_by: tuple[Pass, ...]  # what `apply` would take to make one nest of them; empty where nothing does
    others: tuple[Refusal, ...] = ()  # what the other rules say
    price: Callable[[], FusionEffect] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def effect(self) -> FusionEffect | None:
        """What `enabled_by` would bring, predicted when it is first looked at."""
        return self.price() if self.enabled_by and self.price is not None else None

    derived = ("effect",)

    def __str__(self) -> str:
        if self.fused:
            return f"{self.producer} and {self.consumer} are one nest: {self.reason}"
        text = f"{self.consumer} is not fused with {self.producer} ({self.rule}): {self.reason}; needs: {self.needs}"
        if not self.enabled_by:
            return text
        told = f" ({self.effect.told})" if self.effect is not None else ""
        return f"{text}; {' '.join(map(str, self.enabled_by))} would{told}"


@dataclass(frozen=True)
class FusionEffect(JsonData):
    """What the program moves and takes before and after a fusion by hand, by the static model."""

    bytes_before: int
    bytes_after: int
    us_before: float
    us_after: float
    refused: str = ""  # why a later planner does not take it; nothing is known of it then

    @property
    def worse(self) -> bool:
        return bool(self.refused) or self.us_after > self.us_before

    @property
    def told(self) -> str:
        if self.refused:
            return f"a later planner refuses it: {self.refused}"
        moved = f"{self.bytes_before / 1e6:.2f} → {self.bytes_after / 1e6:.2f} MB"
        taken = f"{self.us_before:,.0f} → {self.us_after:,.0f} µs"
        return f"{moved}, {taken} by the model{': slower than now' if self.worse else ''}"

    derived = ("worse", "told")


@dataclass(frozen=True)
class AlgorithmChoice(JsonData):
    """How a node is computed, and the passes that would have it computed otherwise."""

    node: str
    chosen: str  # `direct`, or the name of an algorithm
    others: Mapping[str, Pass]


# ---- text, code and links --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NestDiff(JsonData):
    """A nest before and after: either text is empty where there is no such nest."""

    name: str
    before: str
    after: str

    @property
    def unified(self) -> str:
        """The difference in the form that `diff -u` has."""
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), "before", "after", lineterm="")
        return "\n".join(lines)

    derived = ("unified",)


@dataclass(frozen=True)
class Statement(JsonData):
    """A statement of a scheduled nest, and all the lines of Python that it came from."""

    nest: str
    index: int  # among the statements of its nest
    text: str
    origins: tuple[Origin, ...]


@dataclass(frozen=True)
class Instruction(JsonData):
    """An instruction of a nest's function."""

    nest: str
    index: int  # among the instructions of its function
    text: str
    statement: int | None  # the statement that it was emitted for
    ports: Mapping[str, float]  # cycles that it occupies, by class of ports ("load", "fma", …)
    label: str = ""  # the label in front of it


@dataclass(frozen=True)
class NestCode(JsonData):
    """A nest as text and as machine code, linked line to line."""

    nest: str
    text: tuple[tuple[str, int | None], ...]  # lines, each with the index of its statement
    statements: tuple[Statement, ...]
    instructions: tuple[Instruction, ...]

    @property
    def mapped(self) -> float:
        """The share of instructions that belong to a statement."""
        known = sum(one.statement is not None for one in self.instructions)
        return known / len(self.instructions) if self.instructions else 1.0

    derived = ("mapped",)


@dataclass(frozen=True)
class Links(JsonData):
    """What belongs together across the levels. Statements and instructions are (nest, index)."""

    lines: tuple[Origin, ...]
    nodes: tuple[str, ...]
    nests: tuple[str, ...]
    statements: tuple[tuple[str, int], ...]
    instructions: tuple[tuple[str, int], ...]


# ---- memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lifetime(JsonData):
    """A tensor in the arena: where it lies, and from which to which step."""

    tensor: str
    type: str
    bytes: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryView(JsonData):
    """The arena over the steps of a call."""

    steps: tuple[str, ...]
    tensors: tuple[Lifetime, ...]
    arena_bytes: int
    unshared_bytes: int  # what it would take if no two tensors shared bytes
    packed_bytes: int  # what is kept of the parameters

    @property
    def live(self) -> tuple[int, ...]:
        """Bytes that are alive at each step; a tensor that is computed in the place of another counts once with it."""
        found: list[dict[int, int]] = [{} for _ in self.steps]
        for one in self.tensors:
            for step in range(one.first, min(one.last + 1, len(found))):
                found[step][one.offset] = one.bytes
        return tuple(sum(alive.values()) for alive in found)

    derived = ("live",)


# ---- numbers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictedStep(JsonData):
    """What a step should take by the cost model, and what it took when it was last measured."""

    name: str
    what: str
    predicted_us: float | None  # None of a library call
    measured_us: float | None
    bound: str  # what holds it: ports, front end, latency, L2, L3, DRAM
    terms: Mapping[str, float]  # cycles that each bound would take by itself
    bytes: int
    flop: int
    spills: int = 0

    @property
    def error(self) -> float | None:
        """The prediction over the measurement, less one: 0.1 where it says 10% too much."""
        if self.predicted_us is None or not self.measured_us:
            return None
        return self.predicted_us / self.measured_us - 1.0

    derived = ("error",)


@dataclass(frozen=True)
class Prediction(JsonData):
    """Steps of a program in order, predicted and measured."""

    steps: tuple[PredictedStep, ...]

    @property
    def predicted_us(self) -> float:
        return sum(one.predicted_us or 0.0 for one in self.steps)

    @property
    def measured_us(self) -> float | None:
        known = [one.measured_us for one in self.steps if one.measured_us is not None]
        return sum(known) if known else None

    @property
    def median_error(self) -> float | None:
        """Of the steps that have both: the middle one of the absolute errors."""
        errors = sorted(abs(one.error) for one in self.steps if one.error is not None)
        return errors[len(errors) // 2] if errors else None

    derived = ("predicted_us", "measured_us", "median_error")


# ---- steering --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HistoryStep(JsonData):
    """What one `apply` brought: the program as it was after it."""

    index: int  # 0 is the program before anything was applied by hand
    passes: tuple[Pass, ...]
    bytes: int
    predicted_us: float
    measured_us: float | None  # of a whole call; where it was measured
    check: NumericCheck | None  # where it was checked


@dataclass(frozen=True)
class SessionBranch(JsonData):
    """A line of edits with a name."""

    name: str
    edits: tuple[tuple[Pass, ...], ...]
    undone: int  # how many could be done again
    current: bool


@dataclass(frozen=True)
class StoredValue(JsonData):
    """A value of a training step's forward half that backward needs: stored for it, or computed again."""

    name: str
    type: str
    bytes: int
    stored: bool
    keeping_cycles: float | None  # None where it cannot be kept
    computing_cycles: float | None  # None where it cannot be computed again
    origins: tuple[Origin, ...]
    pass_to_change: Pass | None = None  # what would store it, or have it computed again


# ---- events ----------------------------------------------------------------------------------------------------------

EventKind = Literal[
    "progress", "applied", "undone", "redone", "branched", "switched", "measured", "checked", "cancelled", "failed"
]


@dataclass(frozen=True)
class SessionEvent(JsonData):
    """Something that happened to a session. Ids count from 1, without gaps."""

    id: int
    kind: EventKind
    subject: str  # of `progress` the operation: apply, preview, measure …
    message: str = ""  # of `progress` the step that begins
    data: Mapping[str, Any] = field(default_factory=dict)
