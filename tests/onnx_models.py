"""Small ONNX models for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import NodeProto, helper, numpy_helper

FLOAT, UINT8, INT64 = 1, 2, 7


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, **attributes)


def model(
    nodes: list[NodeProto],
    inputs: dict[str, tuple[int, list[Any] | None]],
    outputs: list[str],
    weights: dict[str, np.ndarray] | None = None,
    *,
    opset: int = 18,
    **more: Any,
) -> Any:
    """A model of float outputs; `inputs` maps names to element types and shapes."""
    taken = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    made = [helper.make_tensor_value_info(name, 0, None) for name in outputs]
    held = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", taken, made, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def mlp(batch: Any = 2) -> Any:
    """relu(x · w1 + b1) · w2, of a batch that may be open."""
    weights = {"fc1.weight": random(16, 8), "fc1.bias": random(16, seed=1), "fc2.weight": random(4, 16, seed=2)}
    nodes = [
        node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["h"], transB=1, name="/fc1/Gemm"),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "fc2.weight"], ["y"], transB=1),
    ]
    return model(nodes, {"x": (FLOAT, [batch, 8])}, ["y"], weights)


def expected_of_mlp(x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ random(16, 8).T + random(16, seed=1), 0) @ random(4, 16, seed=2).T
