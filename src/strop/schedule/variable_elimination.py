"""The cheapest of all combinations of choices, exactly: variables are eliminated one after another.

A problem is a set of variables with a few values each, and tables that say what combinations of some of them cost. To
eliminate a variable, the tables that mention it are added up and replaced by one without it, which holds the cost of
its best value for every combination of its neighbours. Chains and trees never need a table of more than two variables;
skip connections need one more for each that is open at the same place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V", bound=Hashable)
MOST_ENTRIES = 1 << 18  # of a table; past that one variable is decided by what it costs alone


@dataclass(frozen=True, eq=False)
class Table(Generic[V]):
    """Costs of combinations: one axis for each variable."""

    variables: tuple[V, ...]
    costs: NDArray[np.float64]


def cheapest(sizes: Mapping[V, int], tables: Sequence[Table[V]]) -> dict[V, int]:
    """A value for every variable, such that the sum over all tables is the smallest."""
    return _Elimination(sizes, tables).run()


class _Elimination(Generic[V]):
    def __init__(self, sizes: Mapping[V, int], tables: Sequence[Table[V]]) -> None:
        self.sizes = sizes
        self.about: dict[V, dict[Table[V], None]] = {v: {} for v in sizes}
        self.entries: dict[V, int] = {}
        self.best: list[tuple[V, Table[V]]] = []
        for table in tables:
            self._add(table)
        self._count(sizes)

    def run(self) -> dict[V, int]:
        while self.about:
            variable = min(self.about, key=lambda v: self.entries[v])
            if self.entries[variable] > MOST_ENTRIES:
                variable = max(self.about, key=lambda v: len(self.about[v]))
                self._decide(variable)
            self._eliminate(variable)
        found: dict[V, int] = {}
        for variable, best in reversed(self.best):
            found[variable] = int(best.costs[tuple(found[v] for v in best.variables)])
        return found

    def _eliminate(self, variable: V) -> None:
        whole = self._sum(variable)
        rest = whole.variables[1:]
        for table in list(self.about[variable]):
            self._remove(table)
        del self.about[variable]
        self.best.append((variable, Table(rest, whole.costs.argmin(axis=0).astype(np.float64))))
        self._add(Table(rest, whole.costs.min(axis=0)))
        self._count(rest)

    def _decide(self, variable: V) -> None:
        """Fix a variable to the value that is best if all others adapt to it; its tables no longer connect them."""
        tables = list(self.about[variable])
        costs = np.zeros(self.sizes[variable])
        for table in tables:
            by_value = np.moveaxis(table.costs, table.variables.index(variable), 0)
            costs = costs + by_value.reshape(len(costs), -1).min(axis=1)
        value = int(costs.argmin())
        for table in tables:
            self._remove(table)
            rest = tuple(v for v in table.variables if v != variable)
            self._add(Table(rest, np.asarray(table.costs.take(value, table.variables.index(variable)))))
        own = np.full(len(costs), np.inf)
        own[value] = 0.0
        self._add(Table((variable,), own))
        self._count({v: None for table in tables for v in table.variables})

    def _add(self, table: Table[V]) -> None:
        for v in table.variables:
            self.about[v][table] = None

    def _remove(self, table: Table[V]) -> None:
        for v in table.variables:
            del self.about[v][table]

    def _count(self, some: Iterable[V]) -> None:
        """How large the table would be that eliminating each variable needs."""
        for v in some:
            self.entries[v] = prod(self.sizes[other] for other in self._around(v))

    def _around(self, variable: V) -> tuple[V, ...]:
        """A variable, first, and those that some table ties to it."""
        return tuple(dict.fromkeys((variable, *(v for table in self.about[variable] for v in table.variables))))

    def _sum(self, variable: V) -> Table[V]:
        variables = self._around(variable)
        total = np.zeros([self.sizes[v] for v in variables])
        for table in self.about[variable]:
            order = sorted(range(len(table.variables)), key=lambda i: variables.index(table.variables[i]))
            shape = [self.sizes[v] if v in table.variables else 1 for v in variables]
            total = total + table.costs.transpose(order).reshape(shape)
        return Table(variables, total)
