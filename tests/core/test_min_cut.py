"""Minimum cuts against all cuts of small graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from strop.core.min_cut import INFINITE, FlowNetwork

Edge = tuple[int, int, float]


def _network(nodes: int, edges: list[Edge]) -> FlowNetwork:
    network = FlowNetwork()
    for _ in range(nodes):
        network.node()
    for edge in edges:
        network.add(*edge)
    return network


def _price(near: tuple[bool, ...] | list[bool], edges: list[Edge]) -> float:
    return sum(capacity for a, b, capacity in edges if near[a] and not near[b])


@pytest.mark.parametrize("seed", range(20))
def test_no_cut_of_a_random_graph_is_cheaper(seed: int) -> None:
    draw = random.Random(seed)
    nodes = 8
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and draw.random() < 0.4]
    edges = [(a, b, float(draw.randint(1, 9))) for a, b in pairs]
    near = _network(nodes, edges).cut(0, 1)
    assert near[0] and not near[1]
    cuts = itertools.product((False, True), repeat=nodes - 2)
    assert _price(near, edges) == min(_price((True, False, *cut), edges) for cut in cuts)


def test_edges_of_infinite_capacity_are_not_cut() -> None:
    near = _network(4, [(0, 2, INFINITE), (2, 3, 5.0), (3, 1, INFINITE)]).cut(0, 1)
    assert near == [True, False, True, False]


def test_a_path_that_cannot_be_cut_is_told() -> None:
    with pytest.raises(ValueError, match="infinite"):
        _network(3, [(0, 2, INFINITE), (2, 1, INFINITE)]).cut(0, 1)
