"""Rewrite rules as data, and the engine that applies them bottom-up until nothing changes.

    x = PatternVar("x")
    tidy = Rules(
        Rule("x·1 → x", P.mul(x, 1.0), lambda x: x),
        Rule("relu∘relu → relu", P.relu(P.relu(x)), lambda x: relu(x)),
        Rule("softmax over the last dimension", P.softmax(x, dim=PatternVar("d")), make_rows, when=last_dimension),
    )

`core/patterns.py` has the patterns. `make` and `when` receive what the pattern bound, by parameter name;
`root` is the matched node and `match` the whole match. A guard answers with a bool where the rule simply isn't
meant, or with a Verdict whose reason is worth telling. The engine knows no operator: a `Dialect` says which
operators commute, which number a node stands for, and how a new node inherits its name and origin.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from strop.core.extensions import registry
from strop.core.extents import UnknownExtent
from strop.core.passes import Verdict, no, yes
from strop.core.patterns import Dialect, Found, Pattern
from strop.core.problem import Problem
from strop.core.topological import topological


class Rewritable(Protocol):
    """What the engine asks of a node: immutable, compared by identity."""

    @property
    def op(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[Any, ...]: ...
    @property
    def attrs(self) -> Mapping[str, Any]: ...
    def with_inputs(self, inputs: Any) -> Any: ...


class Recorder(Protocol):
    """Whoever wants to hear of rewrites: a journal."""

    def add(self, kind: Any, subject: object, message: str = "", **data: Any) -> Any: ...


N = TypeVar("N", bound=Rewritable)


@dataclass(frozen=True)
class Match:
    """A rule's pattern on a node, with what surrounds it."""

    root: Any
    bound: Mapping[str, Any]
    interior: tuple[Any, ...]
    uses: Callable[[Any], int]
    returned: Callable[[Any], bool]

    def alone(self) -> Verdict:
        """Whether nobody but the match itself uses its intermediate values."""
        nodes = dict.fromkeys((*self.interior, self.root))
        for node in nodes:
            if node is self.root:
                continue
            inside = sum(used is node for user in nodes for used in user.inputs)
            if self.returned(node):
                return no(f"the intermediate %{node.name} (`{node.op}`) is returned")
            if self.uses(node) > inside:
                return no(f"the intermediate %{node.name} (`{node.op}`) is used elsewhere")
        return yes()


@dataclass(frozen=True)
class Rule:
    """pattern → make(…), if when(…). `make` may answer None when nothing would change."""

    name: str
    pattern: Pattern
    make: Callable[..., Any]
    when: Callable[..., Verdict | bool] | None = None
    _asks: Mapping[Callable[..., Any], tuple[str, ...]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        functions = [f for f in (self.make, self.when) if f is not None]
        asks = {function: tuple(inspect.signature(function).parameters) for function in functions}
        object.__setattr__(self, "_asks", asks)

    def call(self, function: Callable[..., Any], match: Match) -> Any:
        given = {"root": match.root, "match": match, **match.bound}
        return function(**{name: given.get(name) for name in self._asks[function]})


class Rules:
    """An ordered set of rules; the first that applies wins."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules
        self._by_op: dict[str, tuple[tuple[Rule, tuple[frozenset[str], ...]], ...]] = {}

    def __add__(self, other: Rules) -> Rules:
        return Rules(*self.rules, *other.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def at(self, node: Any) -> Iterator[Rule]:
        """The rules that may match a node, judged by its operator and those of its inputs."""
        if node.op not in self._by_op:
            able = (r for r in self.rules if (ops := r.pattern.ops()) is None or node.op in ops)
            self._by_op[node.op] = tuple((rule, rule.pattern.needs()) for rule in able)
        below = {used.op for used in node.inputs}
        for rule, needs in self._by_op[node.op]:
            if not any(below.isdisjoint(need) for need in needs):
                yield rule


class LastWord:
    """A recorder before another: refusals are told once, at the end, and not if the rule did apply after all."""

    def __init__(self, journal: Recorder | None) -> None:
        self.journal = journal
        self.refusals: dict[tuple[str, str], str] = {}

    def add(self, kind: Any, subject: object, message: str = "", **data: Any) -> None:
        key = (str(data.get("rule")), str(subject))
        if kind == "refusal":
            self.refusals[key] = message
            return
        if kind == "rewrite":
            self.refusals.pop(key, None)
        if self.journal is not None:
            self.journal.add(kind, subject, message, **data)

    def close(self) -> None:
        for (rule, subject), message in self.refusals.items():
            if self.journal is not None:
                self.journal.add("refusal", subject, message, rule=rule)
        self.refusals.clear()


def rewrite(roots: Sequence[N], rules: Rules, dialect: Dialect, journal: Recorder | None = None) -> tuple[N, ...]:
    """The values `roots` after every rule was applied everywhere, again and again until none applies.

    Linear in the graph for each sweep; two or three sweeps are usual, since a node's inputs are finished before it.
    """
    told = journal if isinstance(journal, LastWord) else LastWord(journal)
    for _ in range(_SWEEPS):
        sweep = _Sweep(roots, rules, dialect, told)
        roots = sweep.run()
        if not sweep.fired:
            if told is not journal:
                told.close()
            return tuple(roots)
    raise _endless(sweep.last_names())


def _endless(names: Sequence[str]) -> Problem:
    """Rules that make of each other what they replace; one of an extension is told as its fault."""
    told = ", ".join(names)
    foreign = next((one for name in names if (one := registry.find("rule", name)) is not None), None)
    if foreign is not None:
        return foreign.problem(f"does not come to an end; the last rules that applied were {told}")
    return Problem("STR201", f"the rules do not come to an end; the last were {told}")


def rewrite_at(
    roots: Sequence[N], rules: Rules, dialect: Dialect, name: str, journal: Recorder | None = None
) -> tuple[N, ...] | None:
    """The values `roots` after the first rule that applies to the node of this name was applied there, once; None where
    none does."""
    sweep = _Sweep(roots, rules, dialect, LastWord(journal), only=name)
    changed = sweep.run()
    return tuple(changed) if sweep.fired else None


def applicable(roots: Sequence[N], rules: Rules) -> Iterator[tuple[Rule, N]]:
    """Every rule and node where it would change something, inputs before users; nothing is changed."""
    sweep = _Sweep(roots, rules, None, LastWord(None))
    for node in sweep.order:
        for rule in rules.at(node):
            if sweep.replacement(rule, node) is not None:
                yield rule, node


_SWEEPS = 50


class _Sweep:
    """One bottom-up pass. `uses` counts edges (and returns) into each live node, kept exact while nodes change. With
    `only`, nothing but the node of that name is rewritten, once."""

    def __init__(
        self, roots: Sequence[Any], rules: Rules, dialect: Dialect | None, journal: Recorder, only: str = ""
    ) -> None:
        self.roots, self.rules, self.dialect, self.journal, self.only = roots, rules, dialect, journal, only
        self.order = tuple(topological(roots))
        self.uses: Counter[Any] = Counter(roots)
        for node in self.order:
            self.uses.update(node.inputs)
        self.returned = set(roots)
        self.made: dict[Any, Any] = {}
        self.settled: set[Any] = set()
        self.fired: list[str] = []
        self.interior: tuple[Any, ...] = ()  # of the last match
        self.fuel = 100 * len(self.order) + 10_000

    def run(self) -> tuple[Any, ...]:
        for node in self.order:
            rebuilt = node.with_inputs(tuple(self.made[i] for i in node.inputs))
            self.succeed(node, rebuilt)
            result = self.made[node] = self.settle(rebuilt)
            if node in self.returned:
                self.returned.add(result)
        return tuple(self.made[root] for root in self.roots)

    def settle(self, node: Any) -> Any:
        """`node`, whose inputs are settled, after all rules at its root."""
        while node not in self.settled:
            replaced = self.step(node)
            if replaced is None:
                self.settled.add(node)
                return node
            self.retain(replaced)
            self.succeed(node, replaced)
            self.release(node)
            node = self.ready(replaced, node, (node, *self.interior))
        return node

    def step(self, node: Any) -> Any | None:
        if self.only and (self.fired or node.name != self.only):
            return None
        for rule in self.rules.at(node):
            new = self.replacement(rule, node)
            if new is not None:
                self.record(rule, node)
                return new
        return None

    def replacement(self, rule: Rule, node: Any) -> Any | None:
        """What a rule makes of a node; None where it does not apply or changes nothing."""
        for found in rule.pattern.match(node, Found()):
            match = Match(node, found.bound, found.interior, self.uses.__getitem__, self.returned.__contains__)
            try:
                verdict = True if rule.when is None else rule.call(rule.when, match)
                new = rule.call(rule.make, match) if verdict else None
            except UnknownExtent as undecided:
                verdict, new = no(undecided.message), None
            if not verdict and isinstance(verdict, Verdict):
                self.journal.add("refusal", node.name, f"{rule.name}: {verdict.why}", rule=rule.name)
            if new is not None and new is not node:
                self.interior = found.interior
                return new
        return None

    def ready(self, new: Any, old: Any, swallowed: Sequence[Any] = ()) -> Any:
        """What a rule made in place of `old`, named like it and with its inputs settled; it has `swallowed` others."""
        if new in self.settled:
            return new
        if new in self.made:
            return self.made[new]
        assert self.dialect is not None
        node = self.dialect.adopt(new.with_inputs(tuple(self.install(i, old) for i in new.inputs)), old, swallowed)
        self.succeed(new, node)
        return node

    def install(self, new: Any, old: Any) -> Any:
        result = self.made[new] = self.settle(self.ready(new, old))
        return result

    def succeed(self, old: Any, new: Any) -> None:
        """Whoever used `old` will use `new`."""
        if new is not old:
            self.uses[new] += self.uses[old]

    def retain(self, new: Any) -> None:
        """Count the edges of the nodes that a rule made."""
        fresh = {new: None} if new not in self.settled else {}
        stack = list(fresh)
        while stack:
            node = stack.pop()
            self.uses.update(node.inputs)
            inner = [i for i in dict.fromkeys(node.inputs) if i not in self.settled and i not in fresh]
            fresh.update(dict.fromkeys(inner))
            stack.extend(inner)

    def release(self, dead: Any) -> None:
        stack = list(dead.inputs)
        while stack:
            used = stack.pop()
            self.uses[used] -= 1
            if self.uses[used] == 0:
                stack.extend(used.inputs)

    def record(self, rule: Rule, node: Any) -> None:
        self.fired.append(rule.name)
        if len(self.fired) > self.fuel:
            raise _endless(self.last_names())
        self.journal.add("rewrite", node.name, rule.name, rule=rule.name, op=node.op)

    def last_names(self) -> list[str]:
        return list(dict.fromkeys(self.fired[-20:]))
