"""What was understood of a model: operations as a def-use graph, layers with the place that defines them, and matches.

Everything else of `adopt/` speaks in these terms. `extract.py` makes a `Graph` of a function: each `Node` is one
operation under its canonical name (`torch.bmm`, `@` and `.matmul` are all `matmul`), its inputs are nodes, and it
remembers the expression that wrote it and the function in which that expression stands. Helpers are inlined: the nodes
of a helper's body carry the helper as `code` and the calls that led there as `chain`.

    kind         inputs                      attributes
    input        –                           name (a parameter of the function)
    const        –                           `value` holds the Python constant
    symbol       –                           `text`: what no tensor enters: `config.hidden_size // 2`, `x.shape[0]`
    parameter    –                           a tensor of the model (`nn.Parameter`, a buffer): see `definition`
    layer        –                           a module as a value (not called); see `definition`
    phi          one per branch              `test`: the source of the condition; first input: where it holds
    loop         before, after one turn      a variable that a loop changes
    unknown      what it was made of         `text`: a call or expression that nobody knows
    <operation>  its tensors, in the order   the rest of its arguments by name, each a node (`dim`, `dtype`, `eps` …)
                 of the operation table
    <layer kind> the call's arguments        constructor's arguments by name; `definition` is where it was made
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strop.source.facts import Place
from strop.source.project.declarations import Class, Code

if TYPE_CHECKING:
    from strop.source.adopt.language.rule import KernelRule
    from strop.source.project.modules import Project

#: Kinds that compute nothing.
LEAVES = frozenset({"input", "const", "symbol", "parameter", "layer"})


@dataclass(eq=False)
class Definition:
    """`self.q = nn.Linear(d, d)`: where an attribute of a model is made.

    `path` is the attribute as forward says it (`q`, `block.0` for a member of a Sequential); `made_by` the dotted name
    of the class (`torch.nn.Linear`) or function (`torch.ones`), or the id of a class of the project; `arguments` the
    constructor's arguments by name where its signature is known, by position (`0`, `1`) otherwise.
    """

    path: str
    made_by: str
    arguments: Mapping[str, Node]
    owner: Class  #: the class whose method assigns it
    code: Code  #: that method, most often `__init__`
    statement: ast.stmt  #: the whole assignment
    call: ast.expr | None  #: the constructor's call within it
    cls: Class | None = None  #: the class of the project that `made_by` means
    kind: str = "layer"  #: layer, parameter or buffer
    conditional: bool = False  #: made in a branch: the attribute may also be something else
    members: tuple[Definition, ...] = ()  #: of a Sequential or ModuleList, where each is known
    keys: tuple[str, ...] = ()  #: of a ModuleDict, in the order of its members

    @property
    def place(self) -> Place:
        return self.code.place(self.statement)

    @property
    def name(self) -> str:
        return self.path.partition(".")[0]

    def __repr__(self) -> str:
        return f"<definition {self.path} = {self.made_by}>"


class Node:
    """One operation; equal only to itself."""

    __slots__ = (
        "attributes", "chain", "code", "definition", "expression", "graph", "inputs", "kind", "number", "statement",
        "text", "users", "value",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        kind: str,
        inputs: Sequence[Node] = (),
        attributes: Mapping[str, Node] | None = None,
        *,
        code: Code,
        expression: ast.AST | None = None,
        statement: ast.stmt | None = None,
        chain: tuple[tuple[Code, ast.Call], ...] = (),
        definition: Definition | None = None,
        text: str = "",
        value: Any = None,
    ) -> None:
        self.graph = graph
        self.kind = kind
        self.inputs = list(inputs)
        self.attributes = dict(attributes or {})
        self.code = code  #: the function in which `expression` stands (a helper, when it was inlined)
        self.expression = expression  #: what computes it; for an augmented assignment, the statement
        self.statement = statement  #: the statement around it
        self.chain = chain  #: the calls that were inlined on the way here, outermost first, each with its caller
        self.definition = definition
        self.text = text
        self.value = value
        self.users: list[Node] = []  #: whoever has it as an input or attribute, in order
        self.number = len(graph.nodes)  #: in the order of evaluation
        graph.nodes.append(self)
        for used in (*self.inputs, *self.attributes.values()):
            used.users.append(self)

    @property
    def place(self) -> Place:
        return self.code.place(self.expression)

    @property
    def is_leaf(self) -> bool:
        return self.kind in LEAVES

    @property
    def is_scalar(self) -> bool:
        """A value that no tensor enters; parameters of functions count by their annotation or default."""
        if self.kind in ("const", "symbol"):
            return True
        if self.kind == "phi":
            return all(one.is_scalar for one in self.inputs)
        return self.kind == "input" and bool(self.attributes.get("scalar"))

    @property
    def number_held(self) -> Node | None:
        """The number that a buffer of one element was made of: `register_buffer("fill", torch.tensor(-1e9))`."""
        if self.kind != "parameter" or self.definition is None or self.definition.kind != "buffer":
            return None
        return self.definition.arguments.get("value")

    def attribute(self, name: str, default: Any = None) -> Any:
        """The constant value of an attribute; `default` where it is missing or not a constant."""
        found = self.attributes.get(name)
        return found.value if found is not None and found.kind == "const" else default

    def __repr__(self) -> str:
        return f"<%{self.number} {self.kind} {self.place}>"


@dataclass(eq=False)
class Graph:
    """The operations of one function, with what it calls inlined, in the order of evaluation."""

    code: Code
    cls: Class | None  #: the class that `self` is taken to be: where inherited methods are looked up
    project: Project | None = None  #: the files that are scanned together
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, Node] = field(default_factory=dict)
    returns: list[tuple[Node, ast.stmt]] = field(default_factory=list)  #: each returned value, tuples taken apart
    escapes: list[tuple[Node, str]] = field(default_factory=list)  #: values that leave otherwise: stored, yielded
    definitions: dict[str, Definition] = field(default_factory=dict)  #: attributes that it uses, by path
    bindings: dict[str, list[tuple[int, Node]]] = field(default_factory=dict)  #: of its own names, over time

    def names(self, node: Node, at: int) -> list[str]:
        """The function's own variables that hold `node` when evaluation has come to number `at`.

        A replacement for the expression of node `n` is evaluated where `n` was, so `at` is `n.number`.
        """
        found = []
        for name, history in self.bindings.items():
            index = bisect_right(history, at, key=_moment) - 1
            if index >= 0 and history[index][1] is node:
                found.append(name)
        return found

    def value(self, name: str, at: int) -> Node | None:
        """What one of the function's own variables holds when evaluation has come to number `at`."""
        history = self.bindings.get(name, [])
        index = bisect_right(history, at, key=_moment) - 1
        return history[index][1] if index >= 0 else None

    def release(self) -> None:
        """Cut the circles, so that memory is free at once; a garbage collection takes far longer."""
        for node in self.nodes:
            node.inputs.clear()
            node.users.clear()
            node.attributes.clear()
        for held in (self.nodes, self.inputs, self.returns, self.escapes, self.definitions, self.bindings):
            held.clear()


def _moment(binding: tuple[int, Node]) -> int:
    return binding[0]


@dataclass(eq=False)
class Model:
    """A class with a forward: its attributes as the constructors define them, and the graph."""

    cls: Class
    definitions: dict[str, Definition]
    forward: Graph | None


@dataclass(frozen=True)
class Refusal:
    """Why a place that matches is reported and not edited."""

    reason: str
    place: Place
    final: bool = False  #: nobody could do it by hand either


@dataclass(eq=False)
class Match:
    """A place where a rule's pattern was found.

    `bound` holds the metavariables: a node each (for `layer q: Linear(…)` the call's node, whose `definition` is the
    layer). Optional parts that are absent are not in it. `roots` are the results that the replacement gives, in the
    order of the pattern's roots (one, for most rules); `nodes` are all operations that the pattern covers.
    """

    rule: KernelRule
    graph: Graph
    bound: dict[str, Node]
    roots: tuple[Node, ...]
    nodes: tuple[Node, ...]
    skipped: tuple[Node, ...] = ()  #: casts, views and the like inside, that the pattern does not mention
    conditions: dict[str, str] = field(default_factory=dict)  #: metavariables of one branch only → the branch's test
    refusals: list[Refusal] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)

    @property
    def root(self) -> Node:
        return self.roots[-1]

    @property
    def code(self) -> Code:
        """The outermost function that holds part of it: where the match is reported and edited."""
        return min(self.nodes, key=lambda node: len(node.chain)).code

    @property
    def place(self) -> Place:
        """From the first to the last line of its operations that stand in `code`."""
        depth = min(len(node.chain) for node in self.nodes)
        spans = [node.place for node in self.nodes if len(node.chain) == depth]
        first, last = min(spans, key=_start), max(spans, key=_stop)
        return Place(first.file, first.line, first.column, last.end_line, last.end_column)

    @property
    def definitions(self) -> dict[str, Definition]:
        """The layers and parameters among the metavariables."""
        return {name: node.definition for name, node in self.bound.items() if node.definition is not None}

    @property
    def fixable(self) -> bool:
        return bool(self.rule.use) and not self.refusals

    def outside_users(self, node: Node) -> Iterator[Node]:
        """Who uses an inner value besides the match itself."""
        inside = {id(one) for one in (*self.nodes, *self.skipped)}
        return (user for user in node.users if id(user) not in inside)


def definitions_of(value: object) -> Iterator[Definition]:
    """The layers and parameters that a value may be."""
    if isinstance(value, Node):
        if value.definition is not None:
            yield value.definition
        elif value.kind == "phi":
            for one in value.inputs:
                yield from definitions_of(one)


def _start(place: Place) -> tuple[int, int]:
    return place.line, place.column


def _stop(place: Place) -> tuple[int, int]:
    return place.end_line, place.end_column
