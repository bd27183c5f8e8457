"""Trees, linear models and features of ai.onnx.ml against ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from strop import Problem
from strop.run.onnx_model import compile_onnx

onnxruntime = pytest.importorskip("onnxruntime")

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


def test_trees_with_a_circle_are_refused():
    circle = {**NODES, "nodes_truenodeids": [1, 0, 0, 0, 0, 1, 0, 0]}
    with pytest.raises(Problem) as caught:
        compile_onnx(network("TreeEnsembleRegressor", {**trees("target", [0] * 5, [1.0] * 5), **circle}))
    assert "culprit" in str(caught.value.where)
