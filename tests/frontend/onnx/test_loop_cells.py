"""Recurrent layers that were exported as loops become one operator; what only looks like one stays a loop."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule
from strop.runtime.onnx.model import compile_onnx

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TIME, BATCH, WIDTH, HIDDEN = 14, 2, 5, 6


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def weight(*shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


#: z has the gates i, f, g, o side by side
LSTM = [
    node("Split", "z", "i f g o", axis=1), node("Sigmoid", "i", "si"), node("Sigmoid", "f", "sf"),
    node("Sigmoid", "o", "so"), node("Tanh", "g", "tg"), node("Mul", "c sf", "kept"), node("Mul", "si tg", "fresh"),
    node("Add", "fresh kept", "c2"), node("Tanh", "c2", "tc"), node("Mul", "tc so", "h2"),
]  # fmt: skip
LSTM_WEIGHTS = {"W": weight(WIDTH, 4 * HIDDEN, seed=1), "R": weight(HIDDEN, 4 * HIDDEN, seed=2),
                "b": weight(4 * HIDDEN, seed=3), "joint": weight(WIDTH + HIDDEN, 4 * HIDDEN, seed=4)}  # fmt: skip
SPLIT = [
    node("MatMul", "now W", "zx"),
    node("MatMul", "h R", "zh"),
    node("Add", "zx zh", "zz"),
    node("Add", "zz b", "z"),
]
JOINED = [node("Concat", "now h", "both", axis=1), node("Gemm", "both joint b", "z")]
GATES = ["z", "r", "n"]
#: keras' GRU with reset_after, gates with weights of their own
GRU = [
    *(node("MatMul", f"now W{g}", f"x{g}") for g in GATES), *(node("MatMul", f"h R{g}", f"h{g}") for g in GATES),
    *(node("Add", f"h{g} b{g}", f"k{g}") for g in GATES), node("Add", "xz kz", "az"), node("Add", "kr xr", "ar"),
    node("Sigmoid", "az", "sz"), node("Sigmoid", "ar", "sr"), node("Mul", "sr kn", "reset"),
    node("Add", "xn reset", "an"), node("Tanh", "an", "new"), node("Mul", "sz h", "kept"), node("Sub", "one sz", "rest"),
    node("Mul", "rest new", "fresh"), node("Add", "kept fresh", "h2"),
]  # fmt: skip
GRU_WEIGHTS = {"one": np.float32(1), **{f"W{g}": weight(WIDTH, HIDDEN, seed=k) for k, g in enumerate(GATES)},
               **{f"R{g}": weight(HIDDEN, HIDDEN, seed=k + 5) for k, g in enumerate(GATES)},
               **{f"b{g}": weight(HIDDEN, seed=k + 9) for k, g in enumerate(GATES)}}  # fmt: skip
RNN = [node("Gemm", "h Rt", "zh", transB=1), node("MatMul", "now Wx", "zx"), node("Add", "zx zh", "zz"),
       node("Relu", "zz", "h2")]  # fmt: skip
RNN_WEIGHTS = {"Wx": weight(WIDTH, HIDDEN), "Rt": weight(HIDDEN, HIDDEN)}
CASES = {
    "lstm": ([*SPLIT, *LSTM], LSTM_WEIGHTS, ["h", "c"], "lstm"),
    "lstm of both side by side": ([*JOINED, *LSTM], LSTM_WEIGHTS, ["h", "c"], "lstm"),
    "gru": (GRU, GRU_WEIGHTS, ["h"], "gru"),
    "rnn": (RNN, RNN_WEIGHTS, ["h"], "rnn"),
}


def model(nodes, weights, outputs):
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    results = [value(n, INT if n == "last_k" else FLOAT) for n in outputs]
    graph = helper.make_graph(nodes, "graph", [value("x", FLOAT, [TIME, BATCH, WIDTH])], results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def as_loop(cell, weights, states, after="h2"):
    """With a counter of its own, as TensorFlow has, beside the number of the round."""
    body = helper.make_graph(
        [node("Identity", "on", "still"), node("Gather", "x k", "now"), node("Add", "k step", "k2"), *cell,
         node("Identity", after, "out")],
        "body", [value("round", INT, []), value("on", BOOL, []), value("k", INT, []), *(value(s) for s in states)],
        [value("still", BOOL, []), value("k2", INT, []), *(value(f"{s}2") for s in states), value("out")],
    )  # fmt: skip
    last = [f"last_{s}" for s in ["k", *states]]
    starts = {f"{s}0": weight(BATCH, HIDDEN, seed=20) for s in states}
    loop = helper.make_node("Loop", ["times", "yes", "zero", *starts], [*last, "all"], body=body)
    more = {"times": np.asarray(TIME - 1), "yes": np.asarray(True), "zero": np.asarray(1), "step": np.asarray(1)}
    return model([loop], {**weights, **starts, **more}, [*last, "all"])


def as_scan(cell, weights, states, backwards):
    body = helper.make_graph([*cell, node("Identity", "h2", "out")], "body", [value(n) for n in [*states, "now"]],
                             [value(n) for n in [*(f"{s}2" for s in states), "out"]])  # fmt: skip
    last = [f"last_{s}" for s in states]
    starts = {f"{s}0": weight(BATCH, HIDDEN, seed=21) for s in states}
    scan = helper.make_node("Scan", [*starts, "x"], [*last, "all"], body=body, num_scan_inputs=1,
                            scan_input_directions=[backwards])  # fmt: skip
    return model([scan], {**weights, **starts}, [*last, "all"])


def check(made):
    x = weight(TIME, BATCH, WIDTH, seed=30)
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    for got, wanted in zip(compile_onnx(made).run({"x": x}).values(), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return [n.op for n in capture(OnnxModule(made), [torch.from_numpy(x)]).graph.nodes]


@pytest.mark.parametrize("case", CASES)
def test_a_cell_in_a_loop_is_a_layer(case):
    cell, weights, states, op = CASES[case]
    assert check(as_loop(cell, weights, states)).count(op) == 1


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_cell_in_a_scan_is_a_layer(case, backwards):
    cell, weights, states, op = CASES[case]
    assert check(as_scan(cell, weights, states, backwards)).count(op) == 1


@pytest.mark.parametrize("change", [
    ("Tanh", "c2", "tc", "Sigmoid"), ("Sigmoid", "f", "sf", "Tanh"), ("Mul", "c sf", "kept", "Sub"),
    ("Add", "fresh kept", "c2", "Sub"),
], ids=["output", "forget gate", "kept", "sum"])  # fmt: skip
def test_another_cell_stays_as_it_is(change):
    op, inputs, output, other = change
    assert node(op, inputs, output) in LSTM
    cell = [node(other, inputs, output) if n == node(op, inputs, output) else n for n in (*SPLIT, *LSTM)]
    assert "lstm" not in check(as_loop(cell, LSTM_WEIGHTS, ["h", "c"]))


def test_a_cell_that_yields_something_else_stays_as_it_is():
    assert "lstm" not in check(as_loop([*SPLIT, *LSTM], LSTM_WEIGHTS, ["h", "c"], after="c2"))
