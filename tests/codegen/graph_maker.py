"""A random graph being made: what may be used next, a bound of every value, and whether it is exact.

Comparisons, rounding and argmax jump: one last bit decides. So floats start as small whole numbers, every node knows a
bound of its values and whether they are exact, and only exact values reach an operator that jumps.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from strop.graph import build
from strop.graph.ir import Node

EXTENTS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33)
LARGEST = 6000  # elements of any value
FLOATS = ("f32", "f64")
NUMBERS = ("f32", "f64", "i64", "i32")
EXACT = 2.0**20  # whole numbers below stay whole numbers through one more sum or product


@dataclass
class Fact:
    bound: float
    exact: bool


@dataclass
class Maker:
    """A graph being made: what may be used next, and what is known of it."""

    random: random.Random
    pool: list[Node] = field(default_factory=list)
    facts: dict[Node, Fact] = field(default_factory=dict)
    inputs: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)
    made: int = 0

    def pick(self, choices: Any) -> Any:
        return self.random.choice(list(choices))

    def below(self, top: int) -> int:
        return self.random.randrange(top)

    def note(self, node: Node, bound: float, exact: bool) -> Node:
        """Keep a value under a name of its own."""
        if node in self.facts:
            return node
        self.made += 1
        named = Node(node.op, node.inputs, node.attrs, node.types, node.name or f"n{self.made}")
        self.facts[named] = Fact(bound, exact and bound <= EXACT)
        if named.type.size <= LARGEST and bound < 1e6:
            self.pool.append(named)
        return named

    def leaf(self, dtype: str, shape: tuple[int, ...], *, param: bool = False) -> Node:
        made, place = (self.params, build.param) if param else (self.inputs, build.input)
        node = self.note(place(f"p{len(made)}" if param else len(made), dtype, shape), 3.0, True)
        made.append(node)
        return node

    def any(
        self, dtypes: tuple[str, ...], *, rank: int = 0, exact: bool = False, elements: bool = False
    ) -> Node | None:
        found = [
            n
            for n in self.pool
            if n.dtype in dtypes
            and n.type.rank >= rank
            and (self.facts[n].exact or not exact)
            and (n.type.size or not elements)
        ]
        computed = [n for n in found if n.op not in ("input", "param")]
        if computed and self.below(6):
            found = computed
        return self.pick(found[-4:]) if found else None

    def bound(self, *nodes: Node) -> float:
        return max(self.facts[n].bound for n in nodes)

    def exact(self, *nodes: Node) -> bool:
        return all(self.facts[n].exact for n in nodes)

    def partner(self, x: Node) -> Node:
        """A value that broadcasts against another: one that is there, or a new leaf with extents left out or 1."""
        there = [n for n in self.pool if n.dtype == x.dtype and broadcasts(n.shape, x.shape)]
        if there and self.below(2):
            return self.pick(there[-6:])
        shape = tuple(1 if self.below(4) == 0 else extent for extent in x.shape[self.below(x.type.rank + 1) :])
        return self.leaf(x.dtype, shape, param=self.below(2) == 0)


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes can be computed with each other."""
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))


Move = Callable[[Maker], None]
MOVES: list[Move] = []


def move(times: int = 1) -> Callable[[Move], Move]:
    def register(function: Move) -> Move:
        MOVES.extend([function] * times)
        return function

    return register
