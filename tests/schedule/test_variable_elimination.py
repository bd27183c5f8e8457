"""Eliminating variables finds what trying every combination finds."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.schedule import variable_elimination
from strop.schedule.variable_elimination import Table, cheapest


def total(tables, chosen):
    return sum(float(t.costs[tuple(chosen[v] for v in t.variables)]) for t in tables)


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_sum_is_the_smallest_of_all_combinations(rng):
    sizes = {f"v{i}": rng.randint(1, 3) for i in range(rng.randint(1, 6))}
    tables = []
    for _ in range(rng.randint(1, 9)):
        some = tuple(rng.sample(list(sizes), rng.randint(1, min(3, len(sizes)))))
        costs = np.array(
            [rng.choice([rng.random(), np.inf, 0.0]) for _ in range(int(np.prod([sizes[v] for v in some])))]
        )
        tables.append(Table(some, costs.reshape([sizes[v] for v in some])))
    best = min(total(tables, dict(zip(sizes, values))) for values in product(*(range(n) for n in sizes.values())))
    assert total(tables, cheapest(sizes, tables)) == pytest.approx(best)


def test_variables_that_nothing_is_known_of_take_their_first_value():
    assert cheapest({"a": 3}, []) == {"a": 0}


def test_a_chain_of_a_thousand_is_no_trouble():
    names = [f"v{i}" for i in range(1000)]
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    tables = [Table((a, b), costs) for a, b in pairwise(names)] + [Table(("v500",), np.array([5.0, 0.0]))]
    assert set(cheapest(dict.fromkeys(names, 2), tables).values()) == {1}


def test_where_too_much_is_open_at_once_something_is_still_chosen(monkeypatch):
    monkeypatch.setattr(variable_elimination, "MOST_ENTRIES", 8)
    names = "abcdef"
    rng = np.random.default_rng(0)
    tables = [Table((a, b), rng.random((2, 2))) for a in names for b in names if a < b]
    chosen = cheapest(dict.fromkeys(names, 2), tables)
    assert set(chosen) == set(names) and total(tables, chosen) < 15
