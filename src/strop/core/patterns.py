"""Patterns over nodes: which operator, over which inputs, with which attributes, and what is bound where they match.

    x = PatternVar("x")
    P.relu(P.add(x, x))          # the same node twice
    P.softmax(x, dim=PatternVar("d"))

Patterns look from a node down to its inputs. They know no operator: a `Dialect` makes them, and says which operators
commute and which number a node stands for. `core/rewrite.py` makes rules of patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign, isclose
from typing import Any


@dataclass(frozen=True)
class Found:
    """A partial match: what is bound so far, and the nodes that operators of the pattern matched."""

    bound: Mapping[str, Any] = field(default_factory=dict)
    interior: tuple[Any, ...] = ()

    def bind(self, name: str, value: Any) -> Found | None:
        if name not in self.bound:
            return Found({**self.bound, name: value}, self.interior)
        known = self.bound[name]
        same = known is value or (not hasattr(value, "with_inputs") and known == value)
        return self if same else None

    def through(self, node: Any) -> Found:
        return Found(self.bound, (*self.interior, node))


class Pattern:
    """Matches a node in zero or more ways."""

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        raise NotImplementedError

    def ops(self) -> frozenset[str] | None:
        """The operators that a matching node can have; None when any."""
        return None

    def needs(self) -> tuple[frozenset[str], ...]:
        """Sets of operators, of each of which a matching node has one among its inputs: a cheap first look."""
        return ()


@dataclass(frozen=True)
class PatternVar(Pattern):
    """Any node (or attribute value) for which `where` holds; each occurrence of one name must be the same node."""

    name: str
    where: Callable[[Any], bool] | None = None

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        if self.where is not None and not self.where(node):
            return
        extended = found.bind(self.name, node)
        if extended is not None:
            yield extended


@dataclass(frozen=True)
class Bind(Pattern):
    """What `pattern` matches, under a name."""

    name: str
    pattern: Pattern

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        for inner in self.pattern.match(node, found):
            extended = inner.bind(self.name, node)
            if extended is not None:
                yield extended

    def ops(self) -> frozenset[str] | None:
        return self.pattern.ops()

    def needs(self) -> tuple[frozenset[str], ...]:
        return self.pattern.needs()


@dataclass(frozen=True)
class Either(Pattern):
    """The first of several forms comes first."""

    forms: tuple[Pattern, ...]

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        for form in self.forms:
            yield from form.match(node, found)

    def ops(self) -> frozenset[str] | None:
        known = [form.ops() for form in self.forms]
        return None if any(k is None for k in known) else frozenset().union(*(k for k in known if k is not None))


@dataclass(frozen=True)
class Op(Pattern):
    """One of `names` applied to inputs that match; an `open` pattern leaves the inputs after these free."""

    names: frozenset[str]
    inputs: tuple[Pattern, ...]
    attrs: Mapping[str, Any]
    commutes: bool = False
    open: bool = False

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        count = len(node.inputs)
        if node.op not in self.names or count < len(self.inputs) or (count > len(self.inputs) and not self.open):
            return
        start: Found | None = found.through(node)
        for key, wanted in self.attrs.items():
            start = _match_attr(wanted, node.attrs.get(key), start) if start is not None else None
        if start is None:
            return
        yield from _match_all(self.inputs, node.inputs, start)
        if self.commutes and node.inputs[0] is not node.inputs[1]:
            yield from _match_all(self.inputs, node.inputs[::-1], start)

    def ops(self) -> frozenset[str] | None:
        return self.names

    def needs(self) -> tuple[frozenset[str], ...]:
        return tuple(ops for pattern in self.inputs if (ops := pattern.ops()) is not None)


@dataclass(frozen=True)
class ChainPattern(Pattern):
    """A nest of one associative and commutative operator over exactly these factors, in any order and grouping."""

    op: str
    factors: tuple[Pattern, ...]

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        if node.op == self.op:
            for leaves, interior in _groupings(node, self.op, len(self.factors)):
                yield from self._assign(leaves, Found(found.bound, (*found.interior, *interior)))

    def _assign(self, leaves: tuple[Any, ...], found: Found, done: int = 0) -> Iterator[Found]:
        if done == len(self.factors):
            yield found
            return
        for i, leaf in enumerate(leaves):
            for extended in self.factors[done].match(leaf, found):
                yield from self._assign(leaves[:i] + leaves[i + 1 :], extended, done + 1)

    def ops(self) -> frozenset[str] | None:
        return frozenset((self.op,))


@dataclass(frozen=True)
class NumberPattern(Pattern):
    """A node all of whose elements equal one number: bound under `name`, or compared with `value`."""

    read: Callable[[Any], Any]
    name: str = ""
    value: Any = None
    tolerance: float = 0.0

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        number = self.read(node)
        if number is None:
            return
        if self.value is not None:
            if self._equals(number):
                yield found
            return
        extended = found.bind(self.name, number)
        if extended is not None:
            yield extended

    def _equals(self, number: Any) -> bool:
        """The sign of a zero counts: x + 0.0 is not x when x is -0.0."""
        if self.tolerance:
            return isclose(number, self.value, rel_tol=self.tolerance)
        return bool(number == self.value) and copysign(1.0, number) == copysign(1.0, self.value)


def _match_attr(wanted: Any, value: Any, found: Found) -> Found | None:
    if isinstance(wanted, PatternVar):
        return next(wanted.match(value, found), None)
    if callable(wanted):
        return found if wanted(value) else None
    return found if wanted == value else None


def _match_all(patterns: Sequence[Pattern], nodes: Sequence[Any], found: Found) -> Iterator[Found]:
    if not patterns:
        yield found
        return
    for extended in patterns[0].match(nodes[0], found):
        yield from _match_all(patterns[1:], nodes[1:], extended)


def _groupings(node: Any, op: str, count: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The ways to see `node` as `count` operands under nested `op`s, each with the nodes in between."""
    if count == 1:
        yield (node,), ()
        return
    if node.op != op:
        return
    left, right = node.inputs
    for k in range(1, count):
        for first, above in _groupings(left, op, k):
            for second, below in _groupings(right, op, count - k):
                yield (*first, *second), (node, *above, *below)


@dataclass(frozen=True)
class Dialect:
    """What patterns and engine must know of the operators; `P.add(x, y)` makes a pattern of an operator.

    `adopt(new, old, swallowed)` gives a new node the name and origin of the one it replaces, where it has none, and the
    lines of the nodes that it stands for.
    """

    commutative: frozenset[str]
    read_number: Callable[[Any], Any]
    adopt: Callable[[Any, Any, Sequence[Any]], Any]

    def __getattr__(self, op: str) -> Callable[..., Op]:
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.op(op.rstrip("_"), *inputs, **attrs)

    def op(self, names: str | Iterable[str], *inputs: Any, **attrs: Any) -> Op:
        """A pattern for one of several operators; a last input `...` stands for any further ones."""
        known = frozenset((names,) if isinstance(names, str) else names)
        free = inputs[-1:] == (...,)
        patterns = tuple(map(self.pattern, inputs[:-1] if free else inputs))
        return Op(known, patterns, attrs, known <= self.commutative and not free, free)

    def product(self, *factors: Any) -> ChainPattern:
        return ChainPattern("mul", tuple(map(self.pattern, factors)))

    def either(self, *forms: Any) -> Either:
        return Either(tuple(map(self.pattern, forms)))

    def number(self, name: str) -> NumberPattern:
        return NumberPattern(self.read_number, name)

    def about(self, value: float) -> NumberPattern:
        """A number written with a few digits more or less."""
        return NumberPattern(self.read_number, value=value, tolerance=1e-6)

    def pattern(self, item: Any) -> Pattern:
        return item if isinstance(item, Pattern) else NumberPattern(self.read_number, value=item)
