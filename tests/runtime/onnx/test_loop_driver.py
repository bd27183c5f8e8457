"""Loops whose rounds all have the same shapes are run by native code, however many rounds there are."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from strop.runtime.onnx.loop_driver import FEWEST
from strop.runtime.onnx.model import compile_onnx

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, weights):
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pair(made):
    return compile_onnx(made), onnxruntime.InferenceSession(made.SerializeToString())


def check(compiled, session, **feeds):
    expected = session.run(None, feeds)
    for got, wanted in zip(compiled.run(feeds).values(), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return expected


#: h ← softsign(h · r + x_i), the product with w yielded; the other state counts what was positive
STEP = [
    node("MatMul", "h r", "a"), node("Gather", "x i", "now"), node("Add", "a now", "b"), node("Softsign", "b", "h2"),
    node("Greater", "h2 zero", "up"), node("Cast", "up", "ups", to=INT), node("Add", "n ups", "n2"),
    node("MatMul", "h2 w", "out"),
]  # fmt: skip
WEIGHTS = {"r": np.eye(4, dtype=np.float32)[::-1] * np.float32(0.9), "w": np.ones((4, 2), np.float32), "zero": np.float32(0),
           "h0": np.zeros((2, 4), np.float32), "n0": np.zeros((2, 4), np.int64)}  # fmt: skip


def looping(rounds):
    body = helper.make_graph(
        [node("Identity", "on", "on2"), *STEP], "body",
        [value("i", INT, []), value("on", BOOL, []), value("h"), value("n", INT)],
        [value("on2", BOOL, []), value("h2"), value("n2", INT), value("out")],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["rounds", "", "h0", "n0"], ["h", "n", "all"], body=body)
    return model([loop], [value("x", FLOAT, [rounds, 2, 4])], [value("h"), value("n", INT), value("all")],
                 {**WEIGHTS, "rounds": np.asarray(rounds)})  # fmt: skip


@pytest.mark.parametrize("rounds", [61, 62])
def test_states_and_yields_of_a_counted_loop(rounds):
    compiled, session = pair(looping(rounds))
    for seed in range(3):
        check(compiled, session, x=np.random.default_rng(seed).standard_normal((rounds, 2, 4)).astype(np.float32))
    (body,) = compiled.original.kept.values()
    assert body.runner.ways.hot is not None


def test_changed_weights_are_seen():
    compiled, session = pair(looping(70))
    x = np.random.default_rng(0).standard_normal((70, 2, 4)).astype(np.float32)
    before = check(compiled, session, x=x)[2]
    with torch.no_grad():
        compiled.original.w.mul_(2)
    np.testing.assert_allclose(compiled.run({"x": x})["all"], before * 2, rtol=1e-4, atol=1e-5)


def until():
    """Adds w until the sum passes a limit; data decides how many rounds that takes."""
    body = helper.make_graph(
        [node("Add", "h step", "h2"), node("ReduceSum", "h2", "total", keepdims=0), node("Less", "total most", "on2"),
         node("MatMul", "h2 w", "out")],
        "body", [value("i", INT, []), value("on", BOOL, []), value("h")], [value("on2", BOOL, []), value("h2"), value("out")],
    )  # fmt: skip
    nodes = [node("Abs", "x", "step"), node("ReduceSum", "limits", "most", keepdims=0),
             helper.make_node("Loop", ["", "yes", "step"], ["h", "all"], body=body)]  # fmt: skip
    return model(nodes, [value("x", FLOAT, [3, 4]), value("limits", FLOAT, [12])], [value("h"), value("all")],
                 {"yes": np.asarray(True), "w": np.ones((4, 2), np.float32)})  # fmt: skip


def test_yields_of_rounds_whose_number_data_decides():
    compiled, session = pair(until())
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    counts = set()
    for scale in (10, 10, 1000, 1, 10_000, 999, 0):
        counts.add(len(check(compiled, session, x=x, limits=np.full(12, scale, np.float32))[1]))
    assert 1 in counts and max(counts) > 4 * FEWEST and len(counts) > 4
    ((body, _),) = compiled._staged.interpreter.bodies.values()
    assert body.ways.hot is not None
