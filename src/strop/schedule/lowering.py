"""Level 2: how each node of the graph becomes nests.

algorithm{node=layer1.0.conv1.conv use=winograd how=(6,(4,4),12,32)}    computed another way than directly
library{node=nonzero why="…"}                                           not by generated code
lower{}                                                                 the graph becomes nests
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar

from strop.core.options import Options
from strop.core.pass_fields import misfit
from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.graph.ir import Graph, Node
from strop.loops.lower import LOWERINGS, load_families
from strop.loops.lower.graph import Lowerings, library_nodes
from strop.schedule.algorithms import KINDS, Algorithm, possible_algorithms, weights_of
from strop.target.description import Target


@dataclass(frozen=True)
class Choices:
    """A graph, and how its nodes are to be lowered; by name, those that are lowered directly left out."""

    graph: Graph
    target: Target
    threads: int
    options: Options
    algorithms: Mapping[str, Algorithm] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)
    lowerings: Lowerings = field(default_factory=dict, compare=False, repr=False)  # what was made of its nodes so far

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    @cached_property
    def _nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in reversed(self.graph.nodes)}  # the first of a name

    @cached_property
    def _weights(self) -> int:
        return weights_of(self.graph)

    def possible(self, name: str) -> dict[str, Algorithm]:
        """Every algorithm but the direct one that can compute a node, with its best numbers."""
        node = self.node(name)
        return possible_algorithms(node, self.graph, self.target, self.threads, self._weights) if node else {}

    def find(self, name: str) -> Verdict:
        if self.node(name) is not None:
            return yes()
        near = get_close_matches(name, [node.name for node in self.graph.nodes], 3)
        return no(f"there is no node `{name}`" + (f"; near it: {', '.join(near)}" if near else ""))


MOST = 2**16  # of any number of an algorithm


class LoweringPass(Pass, abstract=True):
    """A pass on how the nodes of a graph are lowered."""

    level: ClassVar[Level] = "lowering"


@dataclass(frozen=True)
class ChooseAlgorithm(LoweringPass, name="algorithm"):
    """a node that is computed by the sums that define it  →  the same by another algorithm

    `use` is one of `winograd`, `winogradgradient`, `strassen`, `pairs`, `compactproduct`, `recurrent`, `plain`, or
    `direct` for the sums as they are defined. `how` holds the algorithm's numbers (tile, strip, block …); without it,
    the best are taken.
    """

    node: str
    use: str
    how: tuple[Any, ...] = ()

    def check(self, ir: Choices) -> Verdict:
        found = ir.find(self.node)
        if not found:
            return found
        if self.use == "direct":
            return yes()
        if self.use not in KINDS:
            return no(f"there is no algorithm `{self.use}`; there are {', '.join(('direct', *KINDS))}", self.node)
        able = ir.possible(self.node)
        if self.use not in able:
            kinds = ", ".join(("direct", *able))
            return no(f"`{self.use}` does not compute this node; it can be computed by: {kinds}", self.node)
        if not self.how:
            return yes()
        try:
            read(self.use, self.how)
        except Problem as problem:
            return no(problem.message, self.node)
        return yes()

    def apply(self, ir: Choices) -> Choices:
        kept = {name: one for name, one in ir.algorithms.items() if name != self.node}
        if self.use != "direct":
            kept[self.node] = read(self.use, self.how) if self.how else ir.possible(self.node)[self.use]
        return replace(ir, algorithms=kept)

    @classmethod
    def space(cls, ir: Choices) -> Iterator[ChooseAlgorithm]:
        for node in ir.graph.nodes:
            for use, best in ir.possible(node.name).items():
                yield cls(node.name, use, written(best))
            if node.name in ir.algorithms:
                yield cls(node.name, "direct")


@dataclass(frozen=True)
class Library(LoweringPass):
    """a node that becomes nests  →  a call of the library"""

    node: str
    why: str = "asked for"

    def check(self, ir: Choices) -> Verdict:
        found = ir.find(self.node)
        node = ir.node(self.node)
        if node is not None and node.op in ("input", "param", "constant", "item"):
            return no(f"`{node.op}` computes nothing", self.node)
        return found

    def apply(self, ir: Choices) -> Choices:
        return replace(ir, library={**ir.library, self.node: self.why})

    @classmethod
    def space(cls, ir: Choices) -> Iterator[Library]:
        load_families()
        for node in ir.graph.nodes:
            if node.op in LOWERINGS and node.name not in ir.library:
                yield cls(node.name)


@dataclass(frozen=True)
class Lower(LoweringPass):
    """an operator graph  →  loop nests and library calls, in the plainest form"""

    def check(self, ir: Choices) -> Verdict:
        missing = next((node for node in library_nodes(ir.graph) if node.name not in ir.library), None)
        if missing is not None:
            return no(f"it has no lowering: library{{node={missing.name}}}", missing.name)
        return yes()

    def apply(self, ir: Choices) -> Any:
        raise NotImplementedError("`Program.then` lowers: the result is of another kind")


# ---- algorithms as text ----------------------------------------------------------------------------------------------


def written(one: Algorithm) -> tuple[Any, ...]:
    """The numbers of an algorithm, as a pass may hold them; what is inside of it with its kind."""
    return tuple(_value(getattr(one, f.name)) for f in fields(one))


def _value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return (kind_of(value), *written(value))  # type: ignore[arg-type]
    return tuple(map(_value, value)) if isinstance(value, tuple) else value


def kind_of(value: Any) -> str:
    """What an algorithm is called in the text of passes."""
    return next(name for name, kind in KINDS.items() if type(value) is kind)


def read(use: str, how: tuple[Any, ...]) -> Algorithm:
    """The algorithm with these numbers."""
    kind = KINDS[use]
    if len(how) != len(fields(kind)):
        names = ", ".join(f.name for f in fields(kind))
        raise Problem("STR301", f"`{use}` needs {len(fields(kind))} numbers ({names}), got {len(how)}")
    values = {field.name: _read_value(value) for field, value in zip(fields(kind), how)}
    wrong = misfit(kind, values) or next((f"`{name}` is out of range" for name, v in values.items() if _outside(v)), "")
    if wrong:
        raise Problem("STR301", f"`{use}`: {wrong}", help="without `how`, the best numbers are taken")
    made: Algorithm = kind(**values)
    return made


def _outside(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_outside, value))
    return isinstance(value, int | float) and not 0 <= value <= MOST


def _read_value(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], str) and value[0] in KINDS:
        return read(value[0], value[1:])
    return tuple(map(_read_value, value))
