"""Linears with one input become one; equal computations happen once."""

from __future__ import annotations

from graph.evaluating import check_same, graph_of, ops, refusals, simplified, tensor, weight
from strop.core.journal import Journal
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.passes.merge import mergeable_groups
from strop.graph.passes.rewrites import DropMutations, Merge, Name, Share
from strop.graph.passes.simplify import simplify

x = tensor(2, 3, 8)


def _heads(node: Node) -> Node:
    return build.permute(build.reshape(node, (2, 3, 2, node.shape[-1] // 2)), (0, 2, 1, 3))


def merge_linears(graph: Graph, journal: Journal | None = None) -> Graph:
    """The graph with every group of linears merged that may be."""
    groups = list(mergeable_groups(graph, journal))
    if not groups:
        return graph
    graph = Name()(graph)
    for one in list(Merge.space(graph)):
        assert one.check(graph)
        graph = one.changed(graph, journal)
    return graph


def _qkv(bias: bool = True) -> list[Node]:
    sizes = {"q": 8, "k": 4, "v": 6}
    return [
        _heads(build.linear(x, weight(n, 8, key=f"{name}.w"), weight(n, key=f"{name}.b") if bias else None))
        for name, n in sizes.items()
    ]


def test_query_key_and_value_are_one_product() -> None:
    for bias in (True, False):
        before = graph_of(*_qkv(bias))
        journal = Journal()
        after = merge_linears(before, journal)
        check_same(before, after)
        assert ops(after).count("linear") == 1
        assert next(n for n in after.nodes if n.op == "linear").shape == (2, 3, 18)
        assert "merge linears" in journal.of("rewrite")[0].message


def test_linears_of_different_inputs_stay() -> None:
    other = tensor(2, 3, 8, index=1)
    graph = graph_of(*(_heads(build.linear(n, weight(4, 8, key=f"{n.name}.w"))) for n in (x, other)))
    assert merge_linears(graph) is graph


def test_with_and_without_bias_stay_apart() -> None:
    a, b = build.linear(x, weight(4, 8)), build.linear(x, weight(4, 8, key="v"), weight(4, key="b"))
    graph = graph_of(_heads(a), _heads(b))
    assert merge_linears(graph) is graph


def test_an_epilogue_is_worth_more_than_a_merge() -> None:
    journal = Journal()
    graph = graph_of(build.relu(build.linear(x, weight(4, 8))), _heads(build.linear(x, weight(4, 8, key="v"))))
    assert merge_linears(graph, journal) is graph
    assert "epilogue" in refusals(journal)


def test_weights_that_depend_on_inputs_stay() -> None:
    journal = Journal()
    dynamic = build.linear(x, tensor(4, 8, index=1))
    graph = graph_of(_heads(dynamic), _heads(build.linear(x, weight(4, 8))))
    assert merge_linears(graph, journal) is graph
    assert "depends on an input" in refusals(journal)


def test_chains_of_merged_linears() -> None:
    first = [build.reshape(build.linear(x, weight(8, 8, key=f"a{i}")), (2, 3, 8, 1)) for i in range(2)]
    middle = build.reshape(build.cat(first, 3), (2, 3, 16))
    second = [_heads(build.linear(middle, weight(4, 16, key=f"b{i}"))) for i in range(2)]
    before = graph_of(*second)
    after = merge_linears(before)
    check_same(before, after)
    assert ops(after).count("linear") == 2


def test_equal_computations_happen_once() -> None:
    def twice(node: Node) -> Node:
        return build.add(build.exp(node), build.exp(node))

    graph = Share()(graph_of(twice(build.mul(x, 2.0)), twice(build.mul(x, 2.0))))
    assert ops(graph) == ["mul", "exp", "add"]
    check_same(graph_of(twice(build.mul(x, 2.0))), Graph(graph.inputs, graph.params, graph.outputs[:1]))


def test_what_only_looks_equal_is_kept() -> None:
    i = tensor(3, dtype="i64")
    zeros = [build.add(tensor(3), build.full(value, "f32")) for value in (0.0, -0.0)]
    assert ops(Share()(graph_of(*zeros))) == ["add", "add"]
    assert ops(Share()(graph_of(build.cast(i, "f32"), build.cast(i, "f64")))) == ["cast", "cast"]
    random = [build.make("aten", (), {"target": "aten.rand.default"}, types=tensor(3).types) for _ in range(2)]
    assert [n.op for n in Share()(graph_of(*random)).nodes] == ["aten", "aten"]


def test_nan_constants_are_shared() -> None:
    nans = [build.add(tensor(3), build.full(float("nan"), "f32")) for _ in range(2)]
    x0 = nans[0].inputs[0]
    same = [nans[0], nans[1].with_inputs((x0, nans[1].inputs[1]))]
    assert ops(Share()(graph_of(*same))) == ["add"]


def test_unused_params_and_inputs_stay_in_the_signature() -> None:
    a, w = tensor(3), weight(3)
    dead = build.full(True, "bool", (3,))
    graph = Graph((a,), (w,), (build.where(dead, a, w),))
    after = simplify(graph)
    assert (after.inputs, after.params, after.outputs) == ((a,), (w,), (a,))


def test_a_value_written_back_to_itself_is_no_mutation() -> None:
    a = tensor(3)
    graph = DropMutations()(Graph((a,), (), (a,), ((a, a),)))
    assert graph.mutations == ()


def test_shared_subexpressions_let_rules_see_the_pattern() -> None:
    def centred() -> Node:
        return build.sub(x, build.reduce("mean", x, (2,), True))

    variance = build.reduce("mean", build.pow(centred(), 2.0), (2,), True)
    assert ops(simplified(build.div(centred(), build.sqrt(build.add(variance, 1e-5))))) == ["layer_norm"]
