"""Filters: convolutions of one channel into one along one dimension, which leave a vector unit nothing to share.

    y[o] = Σ x[o·stride + k]·w[k]      → rows of 16 results: overlapping windows of x times a banded matrix of weights

A window of 16 results is longer than that of one, by less than what whole vectors of them save.
"""

from __future__ import annotations

from math import prod

from strop.core.passes import Verdict, no, yes
from strop.core.rewrite import Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.graph.passes.language import P

#: results per row
RESULTS = 16
#: fewer results or taps are not worth it, nor is a band that is so thin
FEWEST_RESULTS, FEWEST_TAPS, THINNEST = 256, 8, 4


def _window(conv: Node) -> int:
    """How much of x a row of results reads."""
    stride: int = conv.attrs["stride"][-1]
    return (RESULTS - 1) * stride + conv.inputs[1].shape[-1]


def _is_filter(root: Node) -> Verdict | bool:
    x, weight = root.inputs[:2]
    if any(extent != 1 for extent in weight.shape[:-1]) or x.shape[1] != 1 or root.attrs["transposed"]:
        return False
    still = zip(root.attrs["stride"][:-1], root.attrs["padding"][:-1])
    if any(stride != 1 or any(padding) for stride, padding in still) or root.attrs["dilation"][-1] != 1:
        return False
    if x.dtype not in ("f32", "f64") or not is_parametric(weight):
        return False
    taps = weight.shape[-1]
    if root.shape[-1] < FEWEST_RESULTS or taps < FEWEST_TAPS or _window(root) > THINNEST * taps:
        return no("a row of results would read much more than they need")
    return yes()


def _in_rows(root: Node) -> Node:
    x, weight, *bias = root.inputs
    results, extent, taps = root.shape[-1], x.shape[-1], weight.shape[-1]
    stride, (before, _) = root.attrs["stride"][-1], root.attrs["padding"][-1]
    rows, window = -(-results // RESULTS), _window(root)
    after = (rows - 1) * RESULTS * stride + window - before - extent
    series = _padded(build.reshape(x, (prod(x.shape[:-1]), extent)), (0, 0), (before, after))
    windows = build.make("unfold", (series,), {"dim": 1, "size": window, "step": RESULTS * stride})
    taps_in_row = build.reshape(weight, (1, taps))
    band = [_padded(taps_in_row, (0, 0), (j * stride, (RESULTS - 1 - j) * stride)) for j in range(RESULTS)]
    shared = [build.expand(b, (RESULTS,)) for b in bias]
    product = build.make("linear", (windows, build.cat(band, 0), *shared), like=root)
    flat = build.reshape(product, (*root.shape[:-1], rows * RESULTS))
    return build.slice(flat, len(root.shape) - 1, 0, results) if rows * RESULTS != results else flat


def _padded(x: Node, *pads: tuple[int, int]) -> Node:
    if not any(amount for pair in pads for amount in pair):
        return x
    return build.make("pad", (x,), {"pads": pads, "mode": "constant", "value": 0.0})


rules = Rules(Rule("filter → products of overlapping rows", P.conv(...), _in_rows, _is_filter))
