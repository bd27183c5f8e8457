"""Types with symbolic extents: bound to numbers, they are the types of the bound inputs; text, verifier, cache key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden import golden
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.evaluating import check_same, graph_of, tensor, weight
from graph.symbolic import NODES, block, n, named, rows, s, tokens
from strop.core.extents import UnknownExtent, symbol
from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.graph import build
from strop.graph.infer import MismatchError, infer
from strop.graph.passes.simplify import simplify
from strop.graph.verify import verify


@pytest.mark.parametrize("name", NODES)
@settings(max_examples=10, deadline=None)
@given(x=st.integers(1, 6), y=st.integers(2, 5))
def test_inference_at_any_value_is_that_of_integers(name, x, y):
    graph = graph_of(NODES[name]())
    verify(graph)
    bound = graph.bind({"n": x, "s": y})
    verify(bound)
    assert not bound.symbols
    for symbolic, node in zip(graph.nodes, bound.nodes):
        assert all(isinstance(extent, int) for extent in node.shape)
        given_types = node.types if node.op in NEED_TYPES else None
        assert infer(node.op, node.inputs, node.attrs, given_types) == tuple(
            type_.bind({"n": x, "s": y}) for type_ in symbolic.types
        )


#: operators whose inputs do not tell their type
NEED_TYPES = ("input", "param", "full", "arange", "cast", "reshape", "expand", "slice")


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: build.add(tensor(n), tensor(5)), "do not broadcast"),
        (lambda: build.add(tensor(n), tensor(s)), r"\(n:1..6,\), \(s:2..5,\) do not broadcast"),
        (lambda: build.reshape(tokens, (n, 12, 12)), "has not as many elements"),
        (lambda: build.linear(tensor(12, n), weight(5, 12)), "does not fit weight"),
        (lambda: build.matmul(tensor(3, n), tensor(s, 3)), "×"),
        (lambda: build.slice(tokens, 1, 0, s + 1), "reads beyond extent"),
        (lambda: build.make("select", (tokens,), {"dim": 1, "index": 5}), "index 5 is outside"),
        (lambda: build.cat([tensor(n, 3), tensor(s, 3)], 1), "differ outside of dimension 1"),
    ],
)
def test_what_does_not_fit_for_all_values_is_a_mismatch(make, told):
    with pytest.raises(MismatchError, match=told):
        make()


@pytest.mark.parametrize(
    "make, told",
    [
        (
            lambda: build.make("select", (tokens,), {"dim": 1, "index": 3}),
            "`select`: whether s > 3 depends on .* s:2..5",
        ),
        (lambda: build.slice(tokens, 1, 0, 4), "`slice`: whether s > 3"),
        (lambda: build.conv(tensor(n, 3, s), weight(4, 3, 2), stride=2), r"`conv`: \(s-2\) // \(2\)"),
        (lambda: build.make("unfold", (tokens,), {"dim": 1, "size": 3, "step": 1}), "`unfold`: whether s >= 3"),
    ],
)
def test_what_depends_on_the_value_is_undecided(make, told):
    with pytest.raises(UnknownExtent, match=told):
        make()


def test_the_verifier_names_the_node_of_an_undecided_question():
    good = build.make("select", (tokens,), {"dim": 1, "index": 1})
    bad = replace(good, attrs={"dim": 1, "index": 3}, name="third")
    with pytest.raises(UnknownExtent, match="%third: `select`: whether s > 3"):
        verify(graph_of(bad))


def test_a_symbol_has_one_pair_of_bounds_in_a_graph():
    other = tensor(symbol("n", 1, 7), 12, index=1)
    with pytest.raises(Problem, match=r"symbol `n` has the bounds 1\.\.7, elsewhere 1\.\.6") as caught:
        verify(graph_of(build.exp(rows), build.exp(other)))
    assert caught.value.code == "STR201"


def test_the_cache_key_depends_on_symbols_and_bounds():
    def key(extent):
        return graph_of(build.exp(tensor(extent, 12))).key

    assert key(n) == key(symbol("n", 1, 6))
    assert len({key(n), key(6), key(symbol("n", 1, 7)), key(symbol("n", 2, 6)), key(symbol("m", 1, 6))}) == 5
    swapped = symbol("n", 2, 5) * symbol("s", 1, 6)
    assert repr(swapped) == repr(n * s) and key(swapped) != key(n * s)


def test_element_counts_and_bytes_are_extents():
    assert tokens.type.size == 12 * n * s
    assert tokens.type.bytes == 48 * n * s


@pytest.mark.parametrize("values, told", [({"n": 3}, "symbol s:2..5 has no value"), ({"n": 7, "s": 2}, "cannot be 7")])
def test_symbols_are_bound_to_numbers_between_their_bounds(values, told):
    with pytest.raises(Problem, match=told) as caught:
        graph_of(build.exp(tokens)).bind(values)
    assert caught.value.code == "STR001"


def test_a_symbolic_graph_prints_its_bounds():
    graph = block()
    verify(graph)
    golden("graph/symbolic", str(graph))


def test_a_symbolic_graph_can_be_simplified():
    graph = graph_of(named(build.relu(build.relu(build.reshape(build.reshape(tokens, (n * s, 12)), (n, s, 12)))), "y"))
    simple = simplify(graph, Journal(), check=True)
    assert [node.op for node in simple.nodes] == ["input", "relu"]
    values = {"n": 2, "s": 3}
    check_same(block().bind(values), simplify(block(), Journal(), check=True).bind(values))
