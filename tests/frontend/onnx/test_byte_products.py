"""Quantised products with known weights run on bytes, and equal ONNX Runtime's integers."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule
from strop.runtime.onnx.model import compile_onnx

RNG = np.random.default_rng(0)
ELEMENT = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


def model_of(nodes, x, output_type, constants):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", output_type, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def both(model, x):
    """Ours and theirs; ours has a product of bytes in it."""
    ops = {node.op for node in capture(OnnxModule(model), (torch.from_numpy(x),)).graph.nodes}
    assert ops & {"byte_linear", "byte_conv"}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return compile_onnx(model, {"x": x}).run({"x": x})["y"], peer.run(None, {"x": x})[0]


def whole(dtype, *shape):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize(("k", "n"), [(64, 32), (30, 9), (17, 40)])
@pytest.mark.parametrize(
    ("left", "right", "left_zero", "right_zero"),
    [("uint8", "int8", 3, 0), ("uint8", "uint8", 0, 128), ("uint8", "uint8", 250, 90), ("int8", "int8", -5, 0)],
)
def test_matrix_products_are_exact(k, n, left, right, left_zero, right_zero):
    x, w = whole(left, 5, k), whole(right, k, n)
    node = helper.make_node("MatMulInteger", ["x", "w", "a", "b"], ["y"])
    constants = {"w": w, "a": np.array(left_zero, left), "b": np.array(right_zero, right)}
    got, _ = both(model_of([node], x, TensorProto.INT32, constants), x)
    exact = (x.astype(np.int32) - left_zero) @ (w.astype(np.int32) - right_zero)
    assert np.array_equal(got, exact)


@pytest.mark.parametrize("weight_zero", [128, 77])
@pytest.mark.parametrize(
    "attributes",
    [{"pads": [1, 1, 1, 1]}, {"pads": [0, 2, 1, 0], "strides": [2, 1]}, {"dilations": [2, 2]}],
)
def test_convolutions_are_exact_at_the_borders(attributes, weight_zero):
    x, w = whole("uint8", 2, 6, 9, 11), whole("uint8", 12, 6, 3, 3)
    node = helper.make_node("ConvInteger", ["x", "w", "a", "b"], ["y"], **attributes)
    constants = {"w": w, "a": np.array(100, np.uint8), "b": np.array(weight_zero, np.uint8)}
    got, expected = both(model_of([node], x, TensorProto.INT32, constants), x)
    assert np.array_equal(got, expected)


def test_what_is_quantised_on_the_way_is_exact():
    x, w = RNG.standard_normal((1, 8, 6, 6)).astype(np.float32), whole("int8", 16, 8, 3, 3)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("ConvInteger", ["q", "w", "z"], ["y"], pads=[1, 1, 1, 1]),
    ]
    got, expected = both(model_of(nodes, x, TensorProto.INT32, {"w": w}), x)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("scales", [np.float32(0.02), RNG.uniform(0.01, 0.03, 16).astype(np.float32)])
def test_convolutions_between_quantisers_keep_to_whole_numbers(scales):
    x, w = RNG.standard_normal((1, 5, 7, 7)).astype(np.float32), whole("int8", 16, 5, 3, 3)
    step = np.float32(0.03)
    bias, zeros = RNG.integers(-999, 999, 16).astype(np.int32), np.zeros_like(scales, np.int8)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "t", "tz"], ["wf"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["bf"], axis=0),
        helper.make_node("Conv", ["xf", "wf", "bf"], ["y"], pads=[1, 1, 1, 1]),
    ]
    constants = {"s": step, "z": np.array(-7, np.int8), "w": w, "t": scales, "tz": zeros, "b": bias,
                 "bs": (step * scales).astype(np.float32)}  # fmt: skip
    got, expected = both(model_of(nodes, x, TensorProto.FLOAT, constants), x)
    assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_quantised_lstm_multiplies_bytes():
    x = RNG.standard_normal((6, 2, 20)).astype(np.float32)
    # seven bits: where a CPU has no VNNI, ONNX Runtime adds two products in 16 bits, which eight bits would saturate
    w, r = whole("int8", 1, 20, 32) // 2, whole("int8", 1, 8, 32) // 2
    zero = np.zeros(1, np.int8)
    node = helper.make_node(
        "DynamicQuantizeLSTM", ["x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"], ["y"],
        domain="com.microsoft", hidden_size=8,
    )  # fmt: skip
    constants = {"w": w, "r": r, "ws": np.full(1, 0.01, np.float32), "wz": zero, "rs": np.full(1, 0.02, np.float32),
                 "rz": zero}  # fmt: skip
    model = model_of([node], x, TensorProto.FLOAT, constants)
    got = compile_onnx(model, {"x": x}).run({"x": x})["y"]
    peer = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.abs(got - peer.run(None, {"x": x})[0]).max() < 2e-2


def test_the_sums_of_a_huge_image_are_not_kept():
    x, w = np.zeros((1, 4, 1024, 1024), np.uint8), whole("int8", 16, 4, 3, 3)
    node = helper.make_node("ConvInteger", ["x", "w", "a"], ["y"], pads=[1, 1, 1, 1])
    model = model_of([node], x, TensorProto.INT32, {"w": w, "a": np.array(9, np.uint8)})
    ops = {node.op for node in capture(OnnxModule(model), (torch.from_numpy(x),)).graph.nodes}
    assert "conv" in ops and "byte_conv" not in ops
