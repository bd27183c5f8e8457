"""Trees, linear models and features of ai.onnx.ml against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop import Problem
from strop.runtime.onnx.model import compile_onnx

ROWS = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
#: two trees: x0 ≤ 0 ? (x1 > 0.3 ? a : b) : c, and x2 < 0.1 ? d : e
NODES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0], "nodes_values": [0.0, 0.3, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
}  # fmt: skip
LEAVES = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}


def trees(kind, ids, weights, **more):
    leaves = {**LEAVES, "ids": ids, "weights": weights}
    return {**NODES, **{f"{kind}_{name}": value for name, value in leaves.items()}, **more}


CLASSES = {"classlabels_int64s": [7, 8, 9], "base_values": [0.1, -0.2, 0.3]}
CASES = [
    ("TreeEnsembleRegressor", trees("target", [0, 1, 0, 1, 0], [1.0, 2.0, 3.0, -4.0, 5.0], n_targets=2)),
    ("TreeEnsembleRegressor", trees("target", [0] * 5, [1.0, 2.0, 3.0, -4.0, 5.0], n_targets=1, aggregate_function="MIN")),
    ("TreeEnsembleRegressor", trees("target", [0] * 5, [1.0, 2.0, 3.0, -4.0, 5.0], n_targets=1, aggregate_function="AVERAGE")),
    ("TreeEnsembleClassifier", trees("class", [0, 1, 2, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0], **CLASSES)),
    ("TreeEnsembleClassifier", trees("class", [0, 1, 2, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0], post_transform="SOFTMAX",
                                     **CLASSES)),
    ("TreeEnsembleClassifier", trees("class", [0] * 5, [0.1, 0.2, 0.3, 0.4, 0.5], classlabels_int64s=[0, 1])),
    ("TreeEnsembleClassifier", trees("class", [0] * 5, [1.0, -2.0, 0.3, 0.4, -0.5], classlabels_int64s=[0, 1],
                                     post_transform="LOGISTIC")),
    ("LinearRegressor", {"coefficients": [1.0, -2.0, 3.0], "intercepts": [0.5]}),
    ("LinearClassifier", {"coefficients": [1.0, 2.0, 3.0, -1.0, 0.0, 1.0], "intercepts": [0.5, -0.5],
                          "classlabels_ints": [3, 4], "post_transform": "SOFTMAX"}),
    ("Scaler", {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 0.5, 1.0]}),
    ("Normalizer", {"norm": "L2"}),
    ("Imputer", {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}),
]  # fmt: skip


def tensor(name, array):
    return numpy_helper.from_array(array, name)


def network(op, attributes):
    classifier = op.endswith("Classifier")
    names = ["label", "y"] if classifier else ["y"]
    types = [TensorProto.INT64, TensorProto.FLOAT] if classifier else [TensorProto.FLOAT]
    node = helper.make_node(op, ["x"], names, domain="ai.onnx.ml", name="culprit", **attributes)
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(names, types)]
    taken = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 3])]
    imports = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(helper.make_graph([node], "g", taken, made), opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(("op", "attributes"), CASES, ids=[f"{i} {op}" for i, (op, _) in enumerate(CASES)])
def test_equals_onnxruntime(op, attributes):
    made = network(op, attributes)
    x = ROWS.copy()
    if op == "Imputer":
        x[1, 1] = np.nan
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    for value, got in zip(expected, compile_onnx(made).run({"x": x}).values()):
        np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6)


def forest(trees, leaves, rng):
    """Trees that grow at one leaf after the other, to different depths."""
    nodes = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    ends = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        children, free = {}, [0]
        for _ in range(int(rng.integers(1, leaves))):
            parent, count = free.pop(int(rng.integers(len(free)))), 2 * len(children) + 1
            children[parent] = (count, count + 1)
            free += children[parent]
        for i in range(2 * len(children) + 1):
            over, under = children.get(i, (0, 0))
            row = (tree, i, int(rng.integers(3)), rng.normal(), "BRANCH_LEQ" if i in children else "LEAF", over, under)
            for column, value in zip(nodes.values(), row):
                column.append(value)
        for i in free:
            for column, value in zip(ends.values(), (tree, i, 0, rng.normal())):
                column.append(value)
    tracks = rng.integers(0, 2, len(nodes["modes"])).tolist()
    return {**{f"nodes_{n}": v for n, v in nodes.items()}, **{f"target_{n}": v for n, v in ends.items()},
            "n_targets": 1, "nodes_missing_value_tracks_true": tracks}  # fmt: skip


@pytest.mark.parametrize(("trees", "leaves"), [(1, 2), (70, 30)])
def test_deep_and_shallow_trees_and_missing_values(trees, leaves):
    made = network("TreeEnsembleRegressor", forest(trees, leaves, np.random.default_rng(3)))
    x = ROWS.copy()
    x[0, 1] = x[2] = np.nan
    (expected,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(compile_onnx(made).run({"x": x})["y"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("labels", [{"classlabels_strings": ["cat", "dog", "bird"]}, {"classlabels_int64s": [7, 8, 9]}])
def test_names_of_classes_and_maps_of_scores_come_with_compiled_code(labels):
    made = network("TreeEnsembleClassifier", trees("class", [0, 1, 2, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0], **labels))
    made.graph.node.append(helper.make_node("ZipMap", ["y"], ["scores"], domain="ai.onnx.ml", **labels))
    key = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
    made.graph.output[0].type.tensor_type.elem_type = key
    value = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    made.graph.output.append(helper.make_value_info("scores", helper.make_sequence_type_proto(value)))
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": ROWS})
    run = compile_onnx(made)
    for _ in range(3):
        label, _, scores = run.run({"x": ROWS}).values()
        assert label.tolist() == expected[0].tolist()
        assert [set(row) for row in scores] == [set(row) for row in expected[2]]
        assert all(row[k] == pytest.approx(other[k], rel=1e-5) for row, other in zip(scores, expected[2]) for k in row)
    assert run._arrays is not None and not [e for e in run.journal.events if e.kind == "fallback"]


def test_trees_with_a_circle_are_refused():
    circle = {**NODES, "nodes_truenodeids": [1, 0, 0, 0, 0, 1, 0, 0]}
    with pytest.raises(Problem) as caught:
        compile_onnx(network("TreeEnsembleRegressor", {**trees("target", [0] * 5, [1.0] * 5), **circle}))
    assert "culprit" in str(caught.value.where)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tree_ensemble_of_version_5_is_compiled(dtype):
    """Its numbers are tensors, which a trace must not take for values that only a call brings."""
    splits = np.array([0.0, 0.3, 0.1], dtype)
    attributes = {
        "nodes_featureids": [0, 1, 2], "nodes_modes": tensor("nodes_modes", np.array([0, 3, 1], np.uint8)),
        "nodes_splits": tensor("nodes_splits", splits), "nodes_truenodeids": [1, 0, 3], "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [2, 1, 4], "nodes_falseleafs": [1, 1, 1], "tree_roots": [0, 2], "n_targets": 2,
        "leaf_targetids": [0, 1, 0, 1, 0],
        "leaf_weights": tensor("leaf_weights", np.array([1.0, 2.0, 3.0, -4.0, 5.0], dtype)),
    }  # fmt: skip
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, [6, 3])],
                              [helper.make_tensor_value_info("y", kind, None)])  # fmt: skip
    imports = [helper.make_opsetid("ai.onnx.ml", 5), helper.make_opsetid("", 21)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=10)
    run = compile_onnx(made)
    x = ROWS.astype(dtype)
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(run.run({"x": x})["y"], expected, rtol=1e-6)
    assert not [event for event in run.journal.events if "eager" in event.message or "stages" in event.message]


def test_categories_are_found_for_numbers_that_become_texts():
    nodes = [
        helper.make_node("Cast", ["x"], ["texts"], to=TensorProto.STRING),
        helper.make_node("CategoryMapper", ["texts"], ["codes"], domain="ai.onnx.ml", cats_int64s=[5, 6],
                         cats_strings=["1", "20"], default_int64=-7),
        helper.make_node("Cast", ["codes"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "f"], ["y"]),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1, 30])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])  # fmt: skip
    imports = [helper.make_opsetid("ai.onnx.ml", 2), helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8)
    x = np.arange(30).reshape(1, 30)
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})[0]
    run = compile_onnx(made)
    for _ in range(2):
        np.testing.assert_array_equal(run.run({"x": x})["y"], expected)
