"""What belongs to what: lines of Python, nodes of the graph, nests and statements of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from strop.core.problem import Problem
from strop.driver.pipeline import Stages
from strop.graph.ir import NOWHERE, Node, Origin
from strop.loops.calls import Call
from strop.loops.ir import Buffer, Nest, Store
from strop.loops.lowered import LibraryCall, Step
from strop.loops.passes.layouts import INSIDE, TWIN


class Provenance:
    """The links of one program. Calls are those of the plan: what runs when parameters change, then every call."""

    def __init__(self, stages: Stages) -> None:
        self.stages = stages

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.stages.graph.nodes}

    @cached_property
    def calls(self) -> Mapping[str, Call | LibraryCall]:
        plan = self.stages.plan
        found = {call.name: call for call in (*plan.prepare, *plan.steps)}
        return found | {call.name: call for group in plan.strips.values() for call in group.calls}

    def call(self, name: str) -> Call | LibraryCall:
        found = self.calls.get(name)
        if found is None:
            raise Problem("STR304", f"there is no nest `{name}`", help=f"there are: {', '.join(self.calls)}")
        return found

    def nodes_of(self, step: Step | Call | LibraryCall) -> tuple[str, ...]:
        """The nodes that a step computes, as the graph names them."""
        if isinstance(step, LibraryCall):
            return (step.name,)
        nest = step.source if isinstance(step, Call) else step
        return tuple(dict.fromkeys(name for store in nest.stores for name in self.computed(store)))

    def computed(self, statement: Store) -> tuple[str, ...]:
        """The nodes that a statement computes; a copy of a tensor is for the node that makes it."""
        return tuple(dict.fromkeys(map(self._name, statement.nodes)))

    def _name(self, name: str) -> str:
        short = name.removesuffix(TWIN).removesuffix(INSIDE)
        return short if short in self.nodes or name not in self.nodes else name

    def lines(self, statement: Store, nest: Nest) -> tuple[Origin, ...]:
        """All lines of Python that a statement came from. What is made for others (packed weights, zeros around the
        edge, copies of inputs) came from those who read or write what it makes."""
        found = [line for name in self.computed(statement) for line in self._lines_of(name)]
        if not found and nest.origin != NOWHERE and nest.origin.file:
            found = [nest.origin]
        if not found:
            found = [line for name in self.nodes_of(nest) for line in self._lines_of(name)]
        return tuple(dict.fromkeys(found)) or self._neighbours(nest)

    def _lines_of(self, name: str) -> tuple[Origin, ...]:
        """The lines of a node; an input or a parameter has none of its own: those of the nodes that read it."""
        node = self.nodes.get(name)
        if node is None:
            return ()
        if node.origins:
            return node.origins
        return tuple(dict.fromkeys(line for user in self.stages.graph.users[node] for line in user.origins))

    def _neighbours(self, nest: Nest) -> tuple[Origin, ...]:
        """Lines of the steps that read what a nest writes, or write what it reads."""
        touched = {*nest.reads, *nest.writes}
        near = sorted({place for buffer in touched for place in self._touching.get(buffer, ())})
        calls = list(self.calls.values())
        return tuple(dict.fromkeys(line for at in near for n in self.nodes_of(calls[at]) for line in self._lines_of(n)))

    @cached_property
    def _touching(self) -> Mapping[Buffer, list[int]]:
        """The calls that touch each buffer, by their places among all."""
        found: dict[Buffer, list[int]] = {}
        for place, call in enumerate(self.calls.values()):
            for buffer in call.touched if isinstance(call, Call) else ():
                found.setdefault(buffer, []).append(place)
        return found

    def origins(self, step: Call | LibraryCall | Step) -> tuple[Origin, ...]:
        """All lines of Python that a step came from."""
        if isinstance(step, LibraryCall):
            return step.node.origins
        nest = step.source if isinstance(step, Call) else step
        return tuple(dict.fromkeys(line for store in nest.stores for line in self.lines(store, nest)))

    @cached_property
    def computing(self) -> Mapping[str, tuple[str, ...]]:
        """The steps of the plan that compute each node."""
        found: dict[str, dict[str, None]] = {}
        for name, call in self.calls.items():
            for node in self.nodes_of(call):
                found.setdefault(node, {})[name] = None
        return {node: tuple(names) for node, names in found.items()}
