"""A program at each of its levels as a graph: what there is, who reads what of whom, and how many bytes that moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph, Node
from strop.graph.operators import VIEWS
from strop.graph.work import bytes_moved, multiply_adds
from strop.loops.calls import Call
from strop.loops.ir import Buffer, Nest
from strop.loops.lowered import LibraryCall, Lowered, Step, reads, writes
from strop.loops.passes.layouts import INSIDE, TWIN
from strop.loops.volume import flop, volume
from strop.schedule.program import as_step
from strop.session.preview import Prices
from strop.session.provenance import Provenance
from strop.session.traffic import Transfer, Transfers
from strop.session.views import MEMORY, VIEW_LEVELS, Edge, ProgramNode, ProgramView, ViewLevel
from strop.session.why_not import FusionAnswers

_KINDS = {"input": "input", "param": "parameter", "constant": "constant"}


class ProgramViews:
    """The views of one program."""

    def __init__(
        self, stages: Stages, links: Provenance, fusion: FusionAnswers, transfers: Transfers, prices: Prices
    ) -> None:
        self.stages, self.links, self.fusion, self.prices = stages, links, fusion, prices
        self.transfers = transfers.of(stages.plan)
        self._read_by: dict[tuple[str, str], Transfer] = {}
        for one in self.transfers:
            self._read_by.setdefault((one.consumer, _base(one.buffer.name)), one)

    def view(self, level: ViewLevel) -> ProgramView:
        if level not in VIEW_LEVELS:
            raise Problem("STR001", f"there is no level `{level!s:.40}`", help=f"levels: {', '.join(VIEW_LEVELS)}")
        if level in ("captured", "graph"):
            graph = self.stages.programs["capture"].graph if level == "captured" else self.stages.graph
            return ProgramView(level, tuple(map(self._node, graph.nodes)), tuple(self._graph_edges(graph)))
        if level == "plan":
            steps = (*self.stages.plan.prepare, *self.stages.plan.steps)
            return ProgramView(level, tuple(map(self._planned, steps)), tuple(map(self._edge, self._between())))
        lowered = self.stages.programs["lower" if level == "nests" else "hoist"].nests
        nests = (*lowered.once, *lowered.nests)
        return ProgramView(level, tuple(map(self._step, nests)), tuple(self._step_edges(lowered)))

    # ---- operators ----

    def _node(self, node: Node) -> ProgramNode:
        operator = node.op not in _KINDS
        nests = self.links.computing.get(node.name, ())
        calls = (self.links.calls[name] for name in nests)
        library = any(isinstance(call, LibraryCall) for call in calls)
        view = node.op in VIEWS or not operator
        written = sum(t.bytes for t in node.types)
        return ProgramNode(
            node.name,
            "library" if library else "operator" if operator else _KINDS[node.op],  # type: ignore[arg-type]
            node.op,
            node.origin.module,
            node.origins,
            ", ".join(map(str, node.types)),
            0 if view else bytes_moved(node) - written,
            0 if view else written,
            0 if view else 2 * multiply_adds(node),
            computes=nests,
        )

    def _graph_edges(self, graph: Graph) -> list[Edge]:
        found = []
        for node in graph.nodes:
            for used in dict.fromkeys(node.inputs):
                size = sum(t.bytes for t in used.types)
                kind = ", ".join(map(str, used.types))
                fused, traffic = self._through(used.name, node.name, size)
                found.append(Edge(used.name, node.name, used.name, kind, size, traffic, fused))
        return found

    def _through(self, producer: str, consumer: str, size: int) -> tuple[bool, Mapping[str, int]]:
        """How the value of one node reaches another: within a nest, or from step to step of the plan."""
        if self.fusion.together(producer, consumer):
            return True, {**dict.fromkeys(MEMORY, 0), "registers": size}
        readers = (consumer, *self.links.computing.get(consumer, ()))
        found = (self._read_by.get((reader, producer)) for reader in readers)
        known = next((one for one in found if one is not None), None)
        return False, known.traffic if known is not None else dict.fromkeys(MEMORY, 0)

    # ---- nests ----

    def _step(self, step: Step) -> ProgramNode:
        module = next((o.module for o in self.links.origins(step) if o.module), "")
        results = ", ".join(f"{b.dtype}[{','.join(map(str, b.shape))}]" for b in writes(step))
        if isinstance(step, LibraryCall):
            read, written = sum(b.bytes for b in step.inputs), sum(b.bytes for b in step.outputs)
            origins = step.node.origins
            return ProgramNode(
                step.name, "library", step.target, step.node.origin.module, origins, results, read, written, 0
            )
        read, written = volume(step)
        what, origins = step.note or "nest", self.links.origins(step)
        module = step.origin.module or module
        return ProgramNode(step.name, "nest", what, module, origins, results, read, written, flop(step))

    def _step_edges(self, lowered: Lowered) -> list[Edge]:
        writers: dict[Buffer, str] = {}
        found = []
        for step in (*lowered.once, *lowered.nests):
            for buffer in dict.fromkeys(reads(step)):
                producer = writers.get(buffer)
                if producer is not None and producer != step.name:
                    fused, traffic = self._between_steps(producer, step.name, buffer)
                    kind = f"{buffer.dtype}[{','.join(map(str, buffer.shape))}]"
                    found.append(Edge(producer, step.name, buffer.name, kind, buffer.bytes, traffic, fused))
            writers.update(dict.fromkeys(writes(step), step.name))
        return found

    def _between_steps(self, producer: str, consumer: str, buffer: Buffer) -> tuple[bool, Mapping[str, int]]:
        if self.fusion.together(producer, consumer):
            return True, {**dict.fromkeys(MEMORY, 0), "registers": buffer.bytes}
        known = self._read_by.get((consumer, _base(buffer.name)))
        if known is not None:
            return False, known.traffic
        return False, self._through(buffer.name, consumer, buffer.bytes)[1]

    # ---- the plan ----

    def _planned(self, step: Call | LibraryCall) -> ProgramNode:
        node = self._step(as_step(step))
        if isinstance(step, LibraryCall):
            return node
        moved = self.prices.nest(step.nest)
        read, written = volume(step.nest)
        return ProgramNode(
            node.name,
            node.kind,
            node.what,
            next((o.module for o in self.links.origins(step) if o.module), node.module),
            self.links.origins(step),
            node.type,
            read,
            written,
            flop(step.source if self._is_whole(step) else step.nest),
            moved.cycles,
            self.links.nodes_of(step),
        )

    def _is_whole(self, call: Call) -> bool:
        """Whether no other call computes a part of the same nest."""
        return self._parts[id(call.source)] == 1

    @cached_property
    def _parts(self) -> Counter[int]:
        """How many calls compute parts of each nest."""
        return Counter(id(one.source) for one in self.links.calls.values() if isinstance(one, Call))

    def _between(self) -> Sequence[Transfer]:
        return [one for one in self.transfers if one.producer]

    def _edge(self, one: Transfer) -> Edge:
        kind = f"{one.buffer.dtype}[{','.join(map(str, one.buffer.shape))}]"
        return Edge(one.producer, one.consumer, one.buffer.name, kind, one.bytes, one.traffic)


def _base(name: str) -> str:
    """The tensor that a copy inside the program is of."""
    return name.removesuffix(TWIN).removesuffix(INSIDE)


def text_of(step: Call | LibraryCall | Nest) -> str:
    """A step under the names that people see."""
    return str(step) if isinstance(step, Nest) else str(as_step(step))
