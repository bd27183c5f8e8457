"""Matching: where a rule's pattern is found in a graph.

Terms are matched from the result down to the inputs, with backtracking:

- `add` and `mul` are sums and products: terms in any order and grouping, constants taken together, powers taken apart;
- operations named by `through` (casts and copies, if nothing else is said) are passed where the pattern names others;
- a `phi` matches when all its branches do, with the same bindings; what only one of them has is noted with its test;
- `op?(x, …)` may be absent, `op*(x, …)` may be there several times: the second `mask` is bound to `mask_2`.

A metavariable is bound once; where it occurs again, it must be the same value (seen through casts and copies).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_

from strop.source.adopt.architecture import Graph, Match, Node
from strop.source.adopt.build import same
from strop.source.adopt.kinds import BIT, Kinds, common_bit, layer_kinds
from strop.source.adopt.language.rule import Expression, KernelRule, Pattern
from strop.source.adopt.operations import GROUPS
from strop.source.adopt.terms import bound_inside, is_const, names_twice, powers_apart, rarity, renamed, without_numbers

_SUMS = ("add", "mul")
_COMMUTATIVE = ("maximum", "minimum")
_MAX_TESTS = 2  #: branches of which only one matches, on the way through a pattern
_MAX_TERMS = 7  #: of a sum or product that is tried in every order
_MAX_STEPS = 20_000  #: per pattern and root, against patterns that explode
#: How the terms of a sum are looked for: (inner sums too, also those that are used elsewhere, powers taken apart).
_WAYS = (
    (False, False, False),
    (True, False, False),
    (True, True, False),
    (True, False, True),
    (True, True, True),
)


class State:
    """What has been matched so far; never changed."""

    __slots__ = ("bound", "conditions", "nodes", "skipped")

    def __init__(
        self,
        bound: dict[str, Node],
        nodes: tuple[Node, ...],
        skipped: tuple[Node, ...],
        conditions: dict[str, str],
    ) -> None:
        self.bound = bound
        self.nodes = nodes
        self.skipped = skipped
        self.conditions = conditions

    def covering(self, node: Node) -> State:
        return State(self.bound, (*self.nodes, node), self.skipped, self.conditions)

    def past(self, node: Node) -> State:
        return State(self.bound, self.nodes, (*self.skipped, node), self.conditions)

    def binding(self, name: str, node: Node) -> State:
        return State({**self.bound, name: node}, self.nodes, self.skipped, self.conditions)

    def bound_as(self, bound: dict[str, Node]) -> State:
        return State(bound, self.nodes, self.skipped, self.conditions)

    def under(self, conditions: dict[str, str]) -> State:
        return State(self.bound, self.nodes, self.skipped, conditions)


class TooManySteps(Exception):
    """The search was given up."""


class Matcher:
    """One rule's pattern, to be looked for in one graph after the other."""

    graph: Graph
    kinds: Kinds

    def __init__(self, rule: KernelRule, pattern: Pattern) -> None:
        self.rule = rule
        self.through = pattern.through
        self.layers = {layer.name: layer for layer in pattern.layers}
        self.pattern = pattern
        self.steps = 0
        self._needed = [self._required(term) for _, term in pattern.roots]

    def places(self, graph: Graph, kinds: Kinds) -> Iterator[Iterator[Match]]:
        """For every result that the pattern can have, the ways to match it."""
        if any(kinds.all & needed != needed for needed in self._needed):
            return
        self.graph, self.kinds = graph, kinds
        first, *others = self.pattern.roots
        needed = self._needed[0]
        for node in self._candidates(first[1]):
            if kinds.below(node) & needed == needed:
                yield self._solutions(first, others, node)

    def _required(self, term: Expression) -> int:
        """Kinds without which a term cannot match, as bits."""
        if term.kind == "either":
            return reduce(and_, (self._required(one) for one in term.children))
        if term.kind == "layer":
            found = common_bit(layer_kinds(self.layers[term.name]))
        elif term.kind == "call" and term.repeat:
            return self._required(term.children[0])
        elif term.kind == "call":
            found = BIT[term.name] if term.name not in (*_SUMS, "square", "pow") else 0
        else:
            return 0
        for child in term.children:
            found |= self._required(child)
        return found

    def _solutions(
        self, first: tuple[str, Expression], others: Sequence[tuple[str, Expression]], node: Node
    ) -> Iterator[Match]:
        self.steps = 0
        try:
            for state in self.term(first[1], node, State({}, (), (), {})):
                for roots, whole in self._more(others, (node,), state):
                    yield Match(
                        self.rule, self.graph, whole.bound, roots, _once(whole.nodes), _once(whole.skipped),
                        dict(whole.conditions),
                    )  # fmt: skip
        except TooManySteps:
            return

    def _more(
        self, others: Sequence[tuple[str, Expression]], roots: tuple[Node, ...], state: State
    ) -> Iterator[tuple[tuple[Node, ...], State]]:
        """Further results: operations on what is bound already, in the order of the source."""
        if not others:
            yield roots, state
            return
        term = others[0][1]
        for node in self._candidates(term):
            if node.number <= roots[-1].number or node.chain != roots[0].chain:
                continue
            for next_state in self.term(term, node, state):
                yield from self._more(others[1:], (*roots, node), next_state)

    def _candidates(self, term: Expression) -> list[Node]:
        kinds: set[str] = set()
        todo = [term]
        while todo:
            one = todo.pop()
            if one.kind == "either":
                todo += one.children
            elif one.kind == "layer":
                kinds.update(layer_kinds(self.layers[one.name]))
            elif one.kind == "call":
                kinds |= {one.name, *GROUPS.get(one.name, ())}
                if one.repeat:
                    todo.append(one.children[0])
        found = [node for kind in sorted(kinds) for node in self.kinds.nodes.get(kind, ())]
        return sorted(found, key=lambda node: node.number)

    # -- terms -----------------------------------------------------------------------------------------------------

    def term(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise TooManySteps
        if term.kind == "any":
            yield state
        elif term.kind == "variable":
            yield from self._variable(term.name, node, state)
        elif term.kind == "const":
            if is_const(node, term.value):
                yield state
        elif term.kind == "either":
            for one in term.alternatives:
                yield from self.term(one, node, state)
        else:
            yield from self._operation(term, node, state)

    def _variable(self, name: str, node: Node, state: State) -> Iterator[State]:
        known = state.bound.get(name)
        if known is None:
            yield state.binding(name, node)
        elif self._same(known, node):
            yield state

    def _same(self, one: Node, other: Node) -> bool:
        return same(self._plain(one), self._plain(other))

    def _plain(self, node: Node) -> Node:
        while node.kind in self.through and node.inputs:
            node = node.inputs[0]
        return node

    def _operation(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        if term.bind and term.bind in state.bound:
            if self._same(state.bound[term.bind], node):
                yield state
            return
        if term.repeat:
            yield from self._repeated(term, node, state)
            return
        if self._is_kind(term, node):
            inner = state.binding(term.bind, node) if term.bind else state
            yield from self._arguments(term, node, inner.covering(node))
        elif node.kind == "phi":
            yield from self._phi(term, node, state)
        elif node.kind in self.through and node.inputs:
            yield from self._operation(term, node.inputs[0], state.past(node))

    def _is_kind(self, term: Expression, node: Node) -> bool:
        if term.kind == "layer":
            layer = self.layers[term.name]
            return node.definition is not None and node.kind in layer_kinds(layer) and bool(node.inputs)
        if node.kind == "square" and term.name == "mul":
            return True
        return node.kind == term.name or node.kind in GROUPS.get(term.name, ())

    def _phi(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        """All branches match; what a branch alone binds, or leaves out, is conditional."""
        states: list[State] = [state]
        own = bound_inside(term) - state.bound.keys()
        for arm in node.inputs:
            following = []
            for before in states:
                kept = {name: one for name, one in before.bound.items() if name in own}
                fresh = before.bound_as({n: one for n, one in before.bound.items() if n not in own})
                for after in itertools.islice(self.term(term, arm, fresh), 8):
                    following.append(after.bound_as({**after.bound, **kept}))
            states = following[:16]
            if not states:
                yield from self._one_branch(term, node, state)
                return
        common: frozenset[str] | None = None
        for found in states:
            conditions = dict(found.conditions)
            added = [name for name in found.bound if name not in state.bound]
            if added:
                common = self._in_all(term, node, state) if common is None else common
                conditions |= {name: node.text for name in added if name not in common and name not in conditions}
            yield found.past(node).under(conditions)

    def _one_branch(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        """Only some branches match: the place is one, but what it computes depends on the test."""
        tests = [test for test in state.conditions.get("", "").split(" and ") if test]
        if len(tests) >= _MAX_TESTS:
            return
        conditions = {**state.conditions, "": " and ".join([*tests, node.text])}
        for arm in node.inputs:
            if not arm.is_leaf:
                for found in self.term(term, arm, state.under(conditions)):
                    yield found.past(node)

    def _in_all(self, term: Expression, node: Node, state: State) -> frozenset[str]:
        """The metavariables that every branch binds on its own."""
        each = [
            frozenset().union(*[found.bound for found in itertools.islice(self.term(term, arm, state), 4)])
            for arm in node.inputs
        ]
        return each[0].intersection(*each[1:])

    def _repeated(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        """The operation is there, then absent; with `*` it may be there again inside."""
        once = term.once
        if term.name in ("elementwise", "steps") and self._is_kind(once, node):
            for one in node.inputs:
                yield from self._repeated(term, one, state.covering(node))
        elif self._is_kind(once, node):
            inside = term.children[0]
            again = replace(term, children=(inside, *term.children[1:])) if term.repeat == "*" else inside
            further = renamed(term.children[1:], state.bound) if term.repeat == "*" else term.children[1:]
            yield from self._arguments(replace(once, children=(again, *further)), node, state.covering(node))
        elif node.kind == "phi":
            yield from self._phi(term, node, state)
            return
        elif node.kind in self.through and node.inputs:
            yield from self._repeated(term, node.inputs[0], state.past(node))
            return
        yield from self.term(term.children[0], node, state)

    # -- arguments -------------------------------------------------------------------------------------------------

    def _arguments(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        if term.kind == "layer":
            yield from self._layer(term, node, state)
            return
        for after in self._inputs(term, node, state):
            yield from self._keywords(term.keywords, node, after)

    def _inputs(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        if term.name in _SUMS:
            yield from self._sum(term, node, state)
            return
        if len(term.children) > len(node.inputs):
            return
        orders = [node.inputs]
        if term.name in _COMMUTATIVE and len(node.inputs) == 2:
            orders.append(node.inputs[::-1])
        for order in orders:
            yield from self._in_order(term.children, order, state)

    def _in_order(self, terms: Sequence[Expression], nodes: Sequence[Node], state: State) -> Iterator[State]:
        if not terms:
            yield state
            return
        for after in self.term(terms[0], nodes[0], state):
            yield from self._in_order(terms[1:], nodes[1:], after)

    def _keywords(self, keywords: Sequence[tuple[str, Expression]], node: Node, state: State) -> Iterator[State]:
        if not keywords:
            yield state
            return
        (name, term), *rest = keywords
        value = node.attributes.get(name)
        if value is None and "**" in node.attributes:
            return  # it may be given
        if value is None:
            absent = term.kind == "const" and term.value is None
            absent = absent or (
                term.kind == "either" and any(c.kind == "const" and c.value is None for c in term.children)
            )
            if absent or (term.kind == "variable" and term.name.startswith("maybe_")):
                yield from self._keywords(rest, node, state)
            return
        for after in self.term(term, value, state):
            yield from self._keywords(rest, node, after)

    def _layer(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        layer = self.layers[term.name]
        known = state.bound.get(term.name)
        if known is not None and known.definition is not node.definition:
            return
        if known is None and any(
            one.definition is node.definition for name, one in state.bound.items() if name in self.layers
        ):
            return  # two layers of a pattern are two layers of the model
        if len(term.children) > len(node.inputs):
            return
        for after in self._in_order(term.children, node.inputs, state.binding(term.name, node)):
            yield from self._keywords(layer.arguments, node, after)

    # -- sums and products -----------------------------------------------------------------------------------------

    def _sum(self, term: Expression, node: Node, state: State) -> Iterator[State]:
        wanted = term.terms
        powers = term.name == "mul" and (
            any(one.kind == "call" and one.name in ("square", "pow") for one in wanted) or names_twice(wanted)
        )
        tried: list[list[Node]] = []
        for flat, shared, expand in _WAYS:
            if expand and not powers:
                continue
            passed: list[Node] = []
            parts = self._parts(node, term.name, shared, expand, passed, top=True) if flat else list(node.inputs)
            if any(len(parts) == len(other) and all(a is b for a, b in zip(parts, other)) for other in tried):
                continue
            tried.append(parts)
            if len(parts) > _MAX_TERMS:
                continue
            assigned = without_numbers(powers_apart(wanted) if expand else wanted, parts, term.name)
            if assigned is None:
                continue
            start = state
            for one in passed:
                start = start.covering(one) if one.kind in (term.name, "square", "pow") else start.past(one)
            yield from self._permuted(sorted(assigned[0], key=rarity), assigned[1], start)

    def _parts(
        self, node: Node, kind: str, shared: bool, expand: bool, passed: list[Node], *, top: bool = False
    ) -> list[Node]:
        """The terms of a sum or product, through casts; `shared`: also of inner ones that are used elsewhere."""
        plain = node
        between = []
        while plain.kind in self.through and plain.inputs and not top:
            between.append(plain)
            plain = plain.inputs[0]
        if plain.kind == kind and (top or shared or len(plain.users) == 1):
            if not top:
                passed += [*between, plain]
            return [part for one in plain.inputs for part in self._parts(one, kind, shared, expand, passed)]
        if kind == "mul" and (expand or top):
            if plain.kind == "square":
                passed += [] if top else [*between, plain]
                return [plain.inputs[0]] * 2
            exponent = plain.inputs[1].value if plain.kind == "pow" and plain.inputs[1].kind == "const" else None
            if exponent in (3, 4):
                passed += [*between, plain]
                return [plain.inputs[0]] * int(exponent)
        return [node]

    def _permuted(self, terms: Sequence[Expression], parts: list[Node], state: State) -> Iterator[State]:
        if not terms:
            if not parts:
                yield state
            return
        for index, part in enumerate(parts):
            if any(part is other for other in parts[:index]):
                continue
            for after in self.term(terms[0], part, state):
                yield from self._permuted(terms[1:], parts[:index] + parts[index + 1 :], after)


def _once(nodes: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(nodes))
