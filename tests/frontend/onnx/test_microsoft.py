"""Operators of com.microsoft against ONNX Runtime, which defines them."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop.runtime.onnx.model import compile_onnx

rng = np.random.default_rng(0)


def f(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def scalar(value, dtype=np.float32):
    return np.asarray(value, dtype)


ids = rng.integers(0, 9, (2, 5)).astype(np.int32)
mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)
q_args = [u8(2, 6), scalar(0.02), scalar(120, np.uint8), u8(2, 6), scalar(0.05), scalar(3, np.uint8),
          scalar(0.04), scalar(100, np.uint8)]  # fmt: skip
CASES = {
    "FusedMatMul": ([f(2, 4, 3), f(2, 5, 4)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    "Gelu": ([f(3, 4)], {}),
    "BiasGelu": ([f(3, 4), f(4)], {}),
    "FastGelu": ([f(3, 4), f(4)], {}),
    "QuickGelu": ([f(3, 4)], {"alpha": 1.5}),
    "SkipLayerNormalization": ([f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], {"epsilon": 1e-5}),
    "SkipSimplifiedLayerNormalization": ([f(2, 3, 8), f(2, 3, 8), f(8)], {"epsilon": 1e-5}),
    "EmbedLayerNormalization": (
        [ids, (ids > 4).astype(np.int32), f(9, 8), f(6, 8), f(2, 8), f(8), f(8), mask], {"epsilon": 1e-5}),
    "FusedConv": ([f(1, 3, 6, 6), f(4, 3, 3, 3), f(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    "FusedGemm": ([f(3, 4), f(4, 5), f(5)], {"activation": "LeakyRelu", "activation_alpha": 0.3}),
    "Attention": ([f(2, 5, 8), f(8, 24), f(24), mask], {"num_heads": 2}),
    "Attention unidirectional": ([f(2, 5, 8), f(8, 24), f(24)], {"num_heads": 2, "unidirectional": 1}),
    "MultiHeadAttention": ([f(2, 5, 8), f(2, 7, 8), f(2, 7, 8), f(24)], {"num_heads": 2}),
    "RotaryEmbedding": ([f(2, 5, 16), np.array([[0, 1, 2, 3, 4]] * 2), f(6, 4), f(6, 4)], {"interleaved": 1}),
    "MatMulNBits": ([f(3, 32), u8(4, 1, 16), np.abs(f(4))], {"K": 32, "N": 4, "bits": 4, "block_size": 32}),
    "DynamicQuantizeMatMul": ([f(3, 8), u8(8, 5), scalar(0.03), scalar(128, np.uint8), f(5)], {}),
    "MatMulIntegerToFloat": (
        [u8(3, 8), u8(8, 5), scalar(0.02), scalar(0.03), scalar(7, np.uint8), scalar(128, np.uint8)], {}),
    "QLinearAdd": (q_args, {}),
    "QLinearMul": (q_args, {}),
    "QLinearSigmoid": ([u8(2, 6), scalar(0.02), scalar(120, np.uint8), scalar(0.004), scalar(0, np.uint8)], {}),
    "QLinearGlobalAveragePool": (
        [u8(1, 3, 4, 4), scalar(0.02), scalar(120, np.uint8), scalar(0.01), scalar(100, np.uint8)], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_equals_onnxruntime(case):
    arrays, attributes = CASES[case]
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node(case.split()[0], names, ["y"], domain="com.microsoft", **attributes)
    if node.op_type == "EmbedLayerNormalization":
        node.output.append("mask_index")
    weights = [numpy_helper.from_array(a, n) for n, a in zip(names[1:], arrays[1:])]
    taken = helper.make_tensor_value_info("x0", helper.np_dtype_to_tensor_dtype(arrays[0].dtype), arrays[0].shape)
    kind = TensorProto.UINT8 if case.startswith("QLinear") else TensorProto.FLOAT
    made = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph([node], "one", [taken], [made], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x0": arrays[0]})[0]
    got = compile_onnx(model, {"x0": arrays[0]}).run({"x0": arrays[0]})["y"]
    assert got.dtype == expected.dtype and got.shape == expected.shape
    step = 1 if expected.dtype == np.uint8 else 0
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=1e-3, atol=1e-4 + step)
