"""Operators whose attributes became inputs, or whose meaning changed, in the opset that had the old form."""

import numpy as np
import pytest

import onnx_models
import strop
from onnx_models import FLOAT, node, random

X = random(2, 3, 4)
IMAGE = random(1, 3, 4, 5, seed=1)
ROWS = np.exp(X.reshape(2, -1) - X.reshape(2, -1).max(1, keepdims=True))

CASES = {
    "slice": (7, "Slice", {"starts": [0, -3], "ends": [1, 1000], "axes": [0, 2]}, X, X[0:1, :, -3:]),
    "pad": (7, "Pad", {"pads": [0, 0, 1, 0, 0, 2], "value": 3.0}, X,
            np.pad(X, [(0, 0), (0, 0), (1, 2)], constant_values=3.0)),
    "pad edge": (10, "Pad", {"pads": [0, 0, 1, 0, 0, 2], "mode": "edge"}, X,
                 np.pad(X, [(0, 0), (0, 0), (1, 2)], mode="edge")),
    "clip": (7, "Clip", {"min": -0.5, "max": 0.25}, X, np.clip(X, -0.5, 0.25)),
    "clip without bounds": (10, "Clip", {}, X, X),
    "softmax of what follows the axis": (11, "Softmax", {"axis": 1}, X,
                                         (ROWS / ROWS.sum(1, keepdims=True)).reshape(X.shape)),
    "squeeze": (11, "Squeeze", {"axes": [0]}, X[:1], X[0]),
    "unsqueeze": (11, "Unsqueeze", {"axes": [0, 3]}, X, X[None, :, :, None]),
    "sum": (11, "ReduceSum", {"axes": [1], "keepdims": 0}, X, X.sum(1)),
    "mean over all": (17, "ReduceMean", {}, X, X.mean(keepdims=True)),
    "split": (11, "Split", {"axis": 2, "split": [1, 3]}, X, X[:, :, :1]),
    "top": (9, "TopK", {"k": 2}, X, -np.sort(-X, -1)[..., :2]),
    "upsample": (7, "Upsample", {"scales": [1.0, 1.0, 2.0, 2.0]}, IMAGE, IMAGE.repeat(2, 2).repeat(2, 3)),
    "dropout": (7, "Dropout", {"ratio": 0.9}, X, X),
    "hardmax of what follows the axis": (11, "Hardmax", {"axis": 1}, X,
                                         (X.max((1, 2), keepdims=True) == X).astype(np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_old_form_means_what_it_did(name):
    opset, op, attributes, x, expected = CASES[name]
    outputs = ["y", "rest"] if op in ("Split", "TopK") else ["y"]
    made = onnx_models.model(
        [node(op, ["x"], outputs, **attributes)], {"x": (FLOAT, list(x.shape))}, ["y"], opset=opset
    )
    run = strop.compile(made)
    np.testing.assert_allclose(run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)
    assert not [event for event in run.journal.events if event.kind == "fallback" and "eager" in event.message]


def test_an_attribute_of_an_older_opset_is_refused_in_a_newer_one():
    made = onnx_models.model([node("Squeeze", ["x"], ["y"], axes=[0])], {"x": (FLOAT, [1, 3])}, ["y"], opset=13)
    with pytest.raises(strop.Problem, match="axes"):
        strop.compile(made)


def test_batch_norm_of_opset_7():
    parameters = {name: np.abs(random(3, seed=i)) + 0.5 for i, name in enumerate(("s", "b", "m", "v"))}
    made = onnx_models.model(
        [node("BatchNormalization", ["x", *parameters], ["y"], epsilon=1e-3)], {"x": (FLOAT, list(IMAGE.shape))}, ["y"],
        parameters, opset=7,
    )  # fmt: skip
    s, b, m, v = (value.reshape(1, 3, 1, 1) for value in parameters.values())
    expected = (IMAGE - m) / np.sqrt(v + 1e-3) * s + b
    np.testing.assert_allclose(strop.compile(made)({"x": IMAGE})["y"], expected, rtol=1e-4, atol=1e-5)
