"""Gradients of embeddings whose weight is used elsewhere: no tensor of zeros is made to add rows up in."""

from __future__ import annotations

import pytest
import torch

from graph.evaluating import check_same
from strop.core.journal import Journal
from strop.frontend.torch.normalize import trace
from strop.graph.passes.simplify import simplify

aten = torch.ops.aten


def index():
    """Rows that repeat."""
    return torch.arange(5) % 3


def simplified(function, *examples):
    before = trace(function, *examples)
    after = simplify(before, Journal())
    check_same(before, after)
    return [node.op for node in after.nodes]


@pytest.mark.parametrize("first", [True, False])
def test_rows_are_added_to_the_other_gradient(first):
    def both(x, dy):
        rows = aten.embedding_dense_backward(dy, index(), 7, -1, False)
        return x.exp() + rows if first else rows + x.exp()

    left = simplified(both, torch.randn(7, 4), torch.randn(5, 4))
    assert left.count("index_put") == 1 and "add" not in left


def test_rows_that_somebody_else_reads_are_added_up_by_themselves():
    def both(x, dy):
        rows = aten.embedding_dense_backward(dy, index(), 7, -1, False)
        return x.exp() + rows, rows

    assert "add" in simplified(both, torch.randn(7, 4), torch.randn(5, 4))


def test_rows_that_replace_are_left_alone():
    def replaced(x, dy):
        return x.exp() + torch.zeros(7, 4).index_put((index(),), dy)

    assert "add" in simplified(replaced, torch.randn(7, 4), torch.randn(5, 4))
