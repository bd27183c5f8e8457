"""Nodes and a small network with symbolic extents: a batch of n, with s tokens each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graph.evaluating import graph_of, tensor, weight
from strop.core.extents import symbol
from strop.graph import build
from strop.graph.ir import Graph, Node

n, s = symbol("n", 1, 6), symbol("s", 2, 5)
rows, tokens, image = tensor(n, 12), tensor(n, s, 12), tensor(n, 6, 9, 9)


def named(node: Node, name: str) -> Node:
    return replace(node, name=name)


NODES: dict[str, Callable[[], Node]] = {
    "unary": lambda: build.exp(tokens),
    "activation": lambda: build.unary("gelu", tokens, approximate="none"),
    "same extents": lambda: build.add(tokens, tensor(n, s, 12, index=1)),
    "number": lambda: build.mul(tokens, 2.0),
    "stretched": lambda: build.add(tensor(n, 1, 12), tensor(s, 1, index=1)),
    "compare": lambda: build.make("lt", (rows, weight(12))),
    "where": lambda: build.where(tensor(n, 1, dtype="bool"), tensor(n, 12, index=1), 0.0),
    "cast": lambda: build.cast(tokens, "f64"),
    "reshape": lambda: build.reshape(tokens, (n * s, 3, 4)),
    "split heads": lambda: build.permute(build.reshape(tokens, (n, s, 3, 4)), (0, 2, 1, 3)),
    "expand": lambda: build.expand(tensor(n, 1, 12), (n, s, 12)),
    "slice": lambda: build.slice(tokens, 1, 1, s),
    "every second": lambda: build.slice(tensor(2 * n, 3), 0, 0, 2 * n, 2),
    "select": lambda: build.make("select", (tokens,), {"dim": 1, "index": 1}),
    "flip": lambda: build.make("flip", (tokens,), {"dims": (1,)}),
    "diagonal": lambda: build.make("diagonal", (tensor(s, s),), {"offset": 1, "dim1": 0, "dim2": 1}),
    "unfold": lambda: build.make("unfold", (tokens,), {"dim": 1, "size": 2, "step": 1}),
    "cat": lambda: build.cat([tokens, tensor(n, 3, 12, index=1), tokens], 1),
    "pad": lambda: build.make("pad", (tokens,), {"pads": ((0, 0), (1, 2), (0, 0)), "mode": "constant", "value": 0.0}),
    "embedding": lambda: build.make("embedding", (weight(10, 3), tensor(n, s, dtype="i64"))),
    "index": lambda: build.make("index", (image, tensor(s, dtype="i64", index=1)), {"dims": (1,)}),
    "sum over symbols": lambda: build.reduce("sum", tokens, (0, 1)),
    "mean": lambda: build.reduce("mean", tokens, (1,), True),
    "argmax": lambda: build.make("argmax", (tokens,), {"dim": 1, "keepdim": False}),
    "softmax": lambda: build.softmax(tokens),
    "softmax over a symbol": lambda: build.softmax(tokens, 1),
    "cumsum": lambda: build.make("cumsum", (tokens,), {"dim": 1}),
    "layer norm": lambda: build.layer_norm(tokens, weight(12), weight(12, key="b"), eps=1e-5),
    "rms norm": lambda: build.rms_norm(tokens, weight(12), eps=1e-5),
    "batch norm": lambda: build.batch_norm(image, weight(6, key="m"), weight(6, key="v")),
    "group norm": lambda: build.make(
        "group_norm", (image,), {"groups": 2, "eps": 1e-5, "has_weight": False, "has_bias": False}
    ),
    "linear": lambda: build.linear(tokens, weight(5, 12), weight(5, key="b")),
    "matmul": lambda: build.matmul(tokens, build.swap(tokens)),
    "matmul with weights": lambda: build.matmul(tokens, weight(12, 4)),
    "conv": lambda: build.conv(image, weight(8, 3, 3, 3), stride=2, padding=1, groups=2),
    "conv along a symbol": lambda: build.conv(tensor(n, 3, s), weight(4, 3, 3), padding=1),
    "transposed conv": lambda: build.conv(tensor(n, 6, s), weight(6, 4, 3), stride=2, transposed=True),
    "attention": lambda: build.attention(*[tensor(n, 3, s, 4, index=i) for i in range(3)], scale=0.5),
    "arange": lambda: build.arange(n * s),
    "full": lambda: build.full(1.0, "f32", (n, 3)),
}


def block() -> Graph:
    """A transformer's layer norm, projection, attention and the mean over its tokens."""
    x = build.input(0, "f32", (n, s, 12), "x")
    norm = named(build.layer_norm(x, weight(12, key="g"), weight(12, key="b"), eps=1e-5), "norm")
    up = named(build.linear(norm, weight(12, 12, key="w"), weight(12, key="c")), "up")
    heads = named(build.permute(named(build.reshape(up, (n, s, 3, 4)), "split"), (0, 2, 1, 3)), "heads")
    mixed = named(build.attention(heads, heads, heads, scale=0.5), "mixed")
    merged = named(build.reshape(named(build.permute(mixed, (0, 2, 1, 3)), "back"), (n, s, 12)), "merged")
    total = named(build.add(merged, x), "residual")
    flat = named(build.softmax(named(build.reshape(total, (n * s, 12)), "flat")), "probabilities")
    return graph_of(flat, named(build.reduce("mean", total, (1,)), "mean"))
