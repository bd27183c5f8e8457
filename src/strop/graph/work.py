"""How much a node of the operator graph computes and moves, by its types alone."""

from __future__ import annotations

from math import prod

from strop.graph.ir import Node, Type

_PRODUCTS = {"linear": 0, "mm": 0, "bmm": 0, "matmul": 0, "addmm": 1, "baddbmm": 1}  # which input has the rows
_CONVOLUTIONS = ("conv", "conv1d", "conv2d", "conv3d", "convolution")
_ATTENTIONS = (
    "attention",
    "attention_forward",
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
)
_RECURRENT = ("lstm", "gru", "rnn", "rnn_tanh", "rnn_relu", "mkldnn_rnn_layer")


def bytes_moved(node: Node) -> int:
    """What it reads and writes if nothing is fused with it."""
    return sum(t.bytes for t in (*node.types, *(t for i in node.inputs for t in i.types)))


def multiply_adds(node: Node) -> int:
    kind = node.attrs["target"].split(".")[1] if node.op == "aten" else node.op
    inputs = [i.types[0] for i in node.inputs]
    if kind in _PRODUCTS:
        return node.types[0].size * inputs[_PRODUCTS[kind]].shape[-1]
    if kind in _CONVOLUTIONS:
        return _points(node, inputs[0]) * inputs[1].size
    if kind == "convolution_backward":
        return 2 * inputs[0].shape[0] * prod(inputs[0].shape[2:]) * inputs[2].size
    if kind in _ATTENTIONS:
        return 2 * inputs[0].size * inputs[1].shape[-2]
    if kind in ("attention_backward", "_scaled_dot_product_flash_attention_for_cpu_backward"):
        return 5 * inputs[1].size * inputs[2].shape[-2]
    if kind in ("linear_cross_entropy", "linear_cross_entropy_backward"):
        products = 1 + len({"x", "weight"}.intersection(node.attrs["gradients"]))
        return products * inputs[0].shape[0] * inputs[1].size
    if kind in _RECURRENT:
        return prod(inputs[0].shape[:-1]) * sum(t.size for t in inputs[1:] if t.rank == 2)
    if kind in ("recurrence", "recurrence_backward"):
        time, batch, units = node.inputs[0].shape[0], *node.inputs[1].shape[-2:]
        return time * batch * units * max(t.shape[0] for t in inputs if t.rank == 2)
    return 0


def _points(node: Node, x: Type) -> int:
    """How many times a convolution's filters are applied: per output point, per input point of a transposed one."""
    transposed = node.attrs["args"][6] if node.op == "aten" and len(node.attrs["args"]) > 6 else False
    shape = x.shape if node.attrs.get("transposed", transposed) is True else node.types[0].shape
    return shape[0] * prod(shape[2:])
