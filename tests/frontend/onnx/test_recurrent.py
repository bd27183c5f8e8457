"""LSTM, GRU and RNN in all their forms, against ONNX Runtime; the usual ones stay whole operators."""

from time import process_time

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule
from strop.runtime.onnx.inputs import examples
from strop.runtime.onnx.model import compile_onnx

TIME, BATCH, SIZE, HIDDEN = 6, 3, 5, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def network(op, *, time=TIME, lengths=None, bias=True, start=True, peepholes=False, direction="forward", **attributes):
    rng = np.random.default_rng(0)
    directions = 2 if direction == "bidirectional" else 1
    gates = GATES[op]

    def f(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    optional = {
        "b": f(directions, 2 * gates * HIDDEN) if bias else None,
        "lengths": np.asarray(lengths, np.int32) if lengths is not None else None,
        "h": f(directions, BATCH, HIDDEN) if start else None,
        "c": f(directions, BATCH, HIDDEN) if start and op == "LSTM" else None,
        "p": f(directions, 3 * HIDDEN) if peepholes else None,
    }
    weights = {"w": f(directions, gates * HIDDEN, SIZE), "r": f(directions, gates * HIDDEN, HIDDEN)}
    weights.update({name: value for name, value in optional.items() if value is not None})
    inputs = ["x", "w", "r", *(name if value is not None else "" for name, value in optional.items())]
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "last", "cell"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, inputs, outputs, hidden_size=HIDDEN, direction=direction, **attributes)
    graph = helper.make_graph(
        [node], "cell",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [time, BATCH, SIZE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), f(time, BATCH, SIZE)


CASES = {
    "plain": {},
    "without bias or start": {"bias": False, "start": False},
    "reverse": {"direction": "reverse"},
    "bidirectional": {"direction": "bidirectional"},
    "lengths": {"lengths": [6, 2, 4]},
    "lengths, reverse": {"lengths": [1, 6, 3], "direction": "reverse"},
    "lengths, bidirectional": {"lengths": [5, 2, 3], "direction": "bidirectional"},
    "one short length for all": {"lengths": [4, 4, 4]},
    "clip": {"clip": 0.3},
    "clip and lengths over many steps": {"clip": 0.3, "time": 40, "lengths": [40, 7, 23]},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("op", GATES)
def test_equals_onnxruntime(op, case):
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    check(*network(op, **CASES[case], **more))


@pytest.mark.parametrize("more", [
    {"op": "LSTM", "peepholes": True},
    {"op": "LSTM", "activations": ["HardSigmoid", "Tanh", "Relu"], "activation_alpha": [0.3], "activation_beta": [0.4]},
    {"op": "GRU"},
    {"op": "GRU", "time": 30, "direction": "bidirectional"},
    {"op": "RNN", "activations": ["Relu"]},
    {"op": "RNN", "activations": ["LeakyRelu"], "activation_alpha": [0.2]},
], ids=lambda more: " ".join(f"{k}={v}" for k, v in more.items()))  # fmt: skip
def test_rarer_cells_equal_onnxruntime(more):
    check(*network(**more))


def check(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    got = compile_onnx(model).run({"x": x})
    for name, value in zip(names, session.run(None, {"x": x})):
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "more"), [("LSTM", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})])
def test_the_usual_cells_stay_whole(op, more, direction):
    model, _ = network(op, direction=direction, **more)
    module = OnnxModule(model)
    ops = [node.op for node in capture(module, examples(module, {})).graph.nodes]
    assert ops.count(op.lower()) == 1
    assert "aten" not in ops


def test_a_layout_with_the_batch_first_equals_its_transpose():
    model, x = network("LSTM", direction="bidirectional", start=False)
    expected = compile_onnx(model).run({"x": x})
    turned, _ = network("LSTM", direction="bidirectional", start=False, layout=1)
    shape = turned.graph.input[0].type.tensor_type.shape.dim
    shape[0].dim_value, shape[1].dim_value = BATCH, TIME
    got = compile_onnx(turned).run({"x": np.ascontiguousarray(x.transpose(1, 0, 2))})
    np.testing.assert_allclose(got["y"], expected["y"].transpose(2, 0, 1, 3), atol=1e-6)
    np.testing.assert_allclose(got["cell"], expected["cell"].transpose(1, 0, 2), atol=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_quantised_lstm_is_one_compiled_loop(direction):
    random = np.random.default_rng(5)
    directions, time, units, width = 2 if direction == "bidirectional" else 1, 40, 24, 12
    # seven bits: where a CPU has no VNNI, ONNX Runtime adds two products in 16 bits, which eight bits would saturate
    weights = {
        "w": random.integers(-64, 64, (directions, width, 4 * units)).astype(np.int8),
        "r": random.integers(-64, 64, (directions, units, 4 * units)).astype(np.int8),
        "b": random.standard_normal((directions, 8 * units)).astype(np.float32) * 0.1,
        "ws": np.full(directions, 0.008, np.float32), "wz": np.zeros(directions, np.int8),
        "rs": np.full(directions, 0.006, np.float32), "rz": np.zeros(directions, np.int8),
    }  # fmt: skip
    node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
                            ["y", "h", "c"], domain="com.microsoft", hidden_size=units, direction=direction)  # fmt: skip
    taken = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [time, 1, width])]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yhc"]
    held = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(helper.make_graph([node], "g", taken, given, held), opset_imports=imports, ir_version=8)
    x = random.standard_normal((time, 1, width)).astype(np.float32)
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    run = compile_onnx(made)
    for value, got in zip(expected, run.run({"x": x}).values()):
        np.testing.assert_allclose(got, value, atol=5e-3)
    assert not [event for event in run.journal.events if event.kind == "fallback"]


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_a_long_sequence_takes_no_longer_to_capture(op):
    """Torch's own way to the shapes of a GRU's results leads through every step, some 13 ms each."""
    attributes = {"linear_before_reset": 1} if op == "GRU" else {}
    long = OnnxModule(network(op, time=3000, **attributes)[0])
    begun = process_time()
    captured = capture(long, examples(long, {}))
    assert process_time() - begun < 5.0
    assert sum(node.op == op.lower() for node in captured.graph.nodes) == 1
