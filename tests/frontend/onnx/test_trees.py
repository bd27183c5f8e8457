"""Trees with every kind of test, walked natively, against walking them node by node."""

import operator

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import strop
from strop.frontend.onnx.ops.forest import Branch, Forest
from strop.runtime.onnx.model import compile_onnx

HOLDS = {
    "BRANCH_LEQ": operator.le, "BRANCH_LT": operator.lt, "BRANCH_GTE": operator.ge, "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq, "BRANCH_NEQ": operator.ne,
}  # fmt: skip
MODES = [*HOLDS, "BRANCH_MEMBER"]
SPLITS = (-np.inf, -1.5, -0.0, 0.0, 0.5, 1.0, np.inf, np.nan)


def as_tensor(values, kind):
    return numpy_helper.from_array(np.array(values, kind))


class Grown:
    """Trees of random tests: nodes[i] = (feature, split, mode, track, members, yes, no) or a leaf's (target, weight)."""

    def __init__(self, trees, inner, modes, features, targets, seed, tracked=True):
        rng = np.random.default_rng(seed)
        self.nodes, self.roots = [], []
        for tree in range(trees):
            self.roots.append(len(self.nodes))
            open_nodes = [len(self.nodes)]
            self.nodes.append(None)
            for _ in range(int(rng.integers(0 if tree else 1, inner))):
                place = open_nodes.pop(int(rng.integers(len(open_nodes))))
                below = (len(self.nodes), len(self.nodes) + 1)
                members = tuple(rng.choice([-1.5, 0.0, 0.5, 1.0, 2.0], int(rng.integers(1, 4)), replace=False))
                track = bool(tracked and rng.integers(2))
                test = (int(rng.integers(features)), float(rng.choice(SPLITS)), str(rng.choice(modes)), track, members)
                self.nodes[place] = (*test, *below)
                self.nodes += [None, None]
                open_nodes += below
            for place in open_nodes:
                self.nodes[place] = (int(rng.integers(targets)), float(rng.normal()))
        self.targets = targets

    def walk(self, row, place):
        node = self.nodes[place]
        while len(node) > 2:
            feature, split, mode, track, members, yes, no = node
            x = row[feature]
            holds = x in members if mode == "BRANCH_MEMBER" else HOLDS[mode](x, row.dtype.type(split))
            node = self.nodes[yes if holds or (track and np.isnan(x)) else no]
        return node

    def totals(self, x):
        found = np.zeros((len(x), self.targets))
        for r, row in enumerate(x):
            for target, weight in (self.walk(row, root) for root in self.roots):
                found[r, target] += weight
        return found

    def regressor(self):
        inner = [len(node) > 2 for node in self.nodes]
        tree_of = np.searchsorted(self.roots, range(len(self.nodes)), side="right") - 1
        leaves = [i for i, more in enumerate(inner) if not more]

        def pick(k, other):
            return [n[k] if more else other for n, more in zip(self.nodes, inner)]

        return helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=self.targets,
            nodes_treeids=tree_of.tolist(), nodes_nodeids=list(range(len(self.nodes))), nodes_featureids=pick(0, 0),
            nodes_values=pick(1, 0.0), nodes_modes=pick(2, "LEAF"), nodes_truenodeids=pick(5, 0),
            nodes_falsenodeids=pick(6, 0), nodes_missing_value_tracks_true=[int(t) for t in pick(3, 0)],
            target_treeids=tree_of[leaves].tolist(), target_nodeids=leaves,
            target_ids=[self.nodes[i][0] for i in leaves], target_weights=[self.nodes[i][1] for i in leaves],
        )  # fmt: skip

    def ensemble(self, dtype):
        inner = [i for i, node in enumerate(self.nodes) if len(node) > 2]
        leaves = [i for i, node in enumerate(self.nodes) if len(node) == 2]
        number = {**{i: k for k, i in enumerate(inner)}, **{i: k for k, i in enumerate(leaves)}}
        test = [self.nodes[i] for i in inner]
        members = [v for n in test if n[2] == "BRANCH_MEMBER" for v in (*n[4], np.nan)]
        codes = [{m: k for k, m in enumerate(MODES)}[n[2]] for n in test]
        return helper.make_node(
            "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=self.targets, aggregate_function=1,
            tree_roots=[number[r] for r in self.roots], nodes_featureids=[n[0] for n in test],
            nodes_splits=as_tensor([n[1] for n in test], dtype), nodes_modes=as_tensor(codes, np.uint8),
            nodes_missing_value_tracks_true=[int(n[3]) for n in test], nodes_truenodeids=[number[n[5]] for n in test],
            nodes_falsenodeids=[number[n[6]] for n in test], nodes_trueleafs=[int(n[5] in leaves) for n in test],
            nodes_falseleafs=[int(n[6] in leaves) for n in test], membership_values=as_tensor(members or [np.nan], dtype),
            leaf_targetids=[self.nodes[i][0] for i in leaves],
            leaf_weights=as_tensor([self.nodes[i][1] for i in leaves], dtype),
        )  # fmt: skip


def rows(count, features, dtype, seed=0):
    """Numbers that are often the very splits, with zeros of both signs, infinities and missing values."""
    rng = np.random.default_rng(seed)
    return rng.choice([*SPLITS, np.nan, 2.0, -0.3], (count, features)).astype(dtype)


def model(node, kind, version, shape):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)])  # fmt: skip
    imports = [helper.make_opsetid("ai.onnx.ml", version), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def check(made, grown, x):
    run = compile_onnx(made, {"x": x})
    np.testing.assert_allclose(run.run({"x": x})["y"], grown.totals(x), rtol=1e-4, atol=1e-5)
    assert not [event for event in run.journal.events if event.kind == "fallback"]


@pytest.mark.parametrize("modes", [*([m] for m in HOLDS), list(HOLDS)], ids=[*HOLDS, "all"])
@pytest.mark.parametrize(("count", "trees"), [(1, 19), (40, 30)])
def test_every_mode_with_missing_values(modes, count, trees):
    grown = Grown(trees, 12, modes, 4, 2, seed=trees)
    x = rows(count, 4, np.float32)
    check(model(grown.regressor(), TensorProto.FLOAT, 3, x.shape), grown, x)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("modes", [MODES, ["BRANCH_MEMBER"], ["BRANCH_LT"]], ids=["all", "members", "less"])
def test_members_of_sets_and_wide_floats(modes, kind):
    grown = Grown(10, 14, modes, 3, 2, seed=5)
    grown.roots = [i for i in grown.roots if len(grown.nodes[i]) > 2]  # here a tree has a node of its own
    x = rows(6, 3, kind)
    made = model(grown.ensemble(kind), helper.np_dtype_to_tensor_dtype(np.dtype(kind)), 5, x.shape)
    check(made, grown, x)


def test_trees_of_one_target_each_are_summed_by_target():
    """As gradient boosting for several classes writes them: one tree after the other, class by class."""
    grown = Grown(12, 6, ["BRANCH_LEQ"], 4, 1, seed=1, tracked=False)
    tree_of = np.searchsorted(grown.roots, range(len(grown.nodes)), side="right") - 1
    nodes = [n if len(n) > 2 else (int(tree_of[i]) % 3, n[1]) for i, n in enumerate(grown.nodes)]
    grown.nodes, grown.targets = nodes, 3
    x = rows(5, 4, np.float32)
    check(model(grown.regressor(), TensorProto.FLOAT, 3, x.shape), grown, x)


class Walk(nn.Module):
    """Ways down trees of a table in which feature and place do not share a word."""

    def __init__(self, grown):
        super().__init__()
        tests = [Branch(n[0], n[1], n[2], n[3]) if len(n) > 2 else Branch() for n in grown.nodes]
        self.forest = Forest.grown(tests, grown.roots, {i: n[5:] for i, n in enumerate(grown.nodes) if len(n) > 2})
        used = {i: test for i, test in enumerate(tests) if test.mode != "LEAF"}
        table, bits = self.forest._nodes(used, {i: test.feature for i, test in used.items()}, 2**28, "int32")
        assert bits == 0
        self.register_buffer("nodes", torch.from_numpy(table))

    def forward(self, x):
        return torch.ops.strop.walk_trees(
            x, self.nodes, self.forest.trees, self.forest.steps, 0, self.nodes.shape[1] > 3
        )


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], ["BRANCH_LT", "BRANCH_EQ"]])
def test_features_and_places_that_one_word_cannot_hold(modes):
    walk, x = Walk(Grown(11, 40, modes, 4, 1, seed=2, tracked=False)), torch.from_numpy(rows(3, 4, np.float32))
    torch.testing.assert_close(strop.compile(walk, (x,))(x), walk(x), rtol=0, atol=0)


def test_a_walk_ends_where_all_of_its_trees_have():
    walk, x = Walk(Grown(8, 30, ["BRANCH_LEQ"], 4, 1, seed=3, tracked=False)), torch.from_numpy(rows(1, 4, np.float32))
    session = strop.Session(walk, (x,))
    assert f"sequential s in {walk.forest.steps}, until done:" in str(session.lowered)
