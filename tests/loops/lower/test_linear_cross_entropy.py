"""The cross-entropy of a linear layer in blocks of rows: loss and gradients are eager's, whatever the blocks."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import compute
from strop.core.extents import symbol
from strop.graph.ir import Node, Type
from strop.loops.lower import CHECKS, load_families

ROWS, WIDTH, WORDS, IGNORED = 7, 5, 11, 3
GRADIENTS = ("x", "weight", "bias")


def given(bias: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    labels = torch.randint(WORDS, (ROWS,))
    labels[2] = IGNORED
    b = torch.randn(WORDS, requires_grad=True) if bias else None
    return torch.randn(ROWS, WIDTH, requires_grad=True), torch.randn(WORDS, WIDTH, requires_grad=True), labels, b


def eager(mean: bool, *inputs: torch.Tensor | None, scale: float = 1.0) -> tuple[torch.Tensor, list[torch.Tensor]]:
    x, weight, labels, bias = inputs
    loss = F.cross_entropy(F.linear(x, weight, bias), labels, ignore_index=IGNORED, reduction="mean" if mean else "sum")
    return loss, list(torch.autograd.grad(scale * loss, [t for t in (x, weight, bias) if t is not None]))


def arrays(*tensors: torch.Tensor | None) -> list[np.ndarray]:
    return [t.detach().numpy() for t in tensors if t is not None]


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
@pytest.mark.parametrize("mean", [True, False])
def test_loss_and_gradients_together(mean: bool, rows: int) -> None:
    x, weight, labels, bias = given()
    types = [("f32", ()), ("f32", ()), ("f32", (ROWS,)), *(("f32", t.shape) for t in (x, weight, bias))]
    loss, gradients = eager(mean, x, weight, labels, bias)
    found = compute("linear_cross_entropy", arrays(x, weight, labels, bias), types, ignore_index=IGNORED, mean=mean,
                    rows=rows, gradients=GRADIENTS)  # fmt: skip
    wanted = [loss, (labels != IGNORED).sum(), F.linear(x, weight, bias).logsumexp(1), *gradients]
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wanted", [("x",), ("weight",), ("x", "weight")])
def test_gradients_from_logarithms(wanted: tuple[str, ...]) -> None:
    x, weight, labels, _ = given(bias=False)
    _, gradients = eager(False, x, weight, labels, None, scale=0.25)
    each = dict(zip(("x", "weight"), gradients))
    logsumexp, scale = F.linear(x, weight).logsumexp(1), torch.tensor(0.25)
    types = [("f32", each[name].shape) for name in wanted]
    found = compute("linear_cross_entropy_backward", arrays(x, weight, labels, logsumexp, scale), types,
                    ignore_index=IGNORED, rows=3, gradients=wanted)  # fmt: skip
    for name, got in zip(wanted, found, strict=True):
        np.testing.assert_allclose(got, each[name].numpy(), rtol=1e-5, atol=1e-6)


def test_without_gradients_there_is_the_loss_alone() -> None:
    x, weight, labels, _ = given(bias=False)
    types = [("f32", ()), ("f32", ()), ("f32", (ROWS,))]
    loss, *_ = compute("linear_cross_entropy", arrays(x, weight, labels), types, ignore_index=IGNORED, mean=True,
                       rows=4, gradients=())  # fmt: skip
    np.testing.assert_allclose(loss, eager(True, x, weight, labels, None)[0].detach(), rtol=1e-5)


def test_where_every_label_is_ignored_gradients_are_zero_and_the_mean_is_none() -> None:
    x, weight, labels, _ = given(bias=False)
    types = [("f32", ()), ("f32", ()), ("f32", (ROWS,)), ("f32", x.shape), ("f32", weight.shape)]
    loss, total, _, dx, dweight = compute("linear_cross_entropy", arrays(x, weight, torch.full_like(labels, IGNORED)),
                                          types, ignore_index=IGNORED, mean=True, rows=4,
                                          gradients=("x", "weight"))  # fmt: skip
    assert np.isnan(loss) and total == 0 and not dx.any() and not dweight.any()


@pytest.mark.parametrize(("dtype", "rows", "why"), [("bf16", 4, "not bf16"), ("f32", symbol("n", 1, 8), "blocks")])
def test_refusals_have_reasons(dtype: str, rows: int, why: str) -> None:
    load_families()
    shapes = ((dtype, (rows, 5)), (dtype, (11, 5)), ("i64", (rows,)))
    inputs = tuple(Node("input", (), {}, (Type(*one),)) for one in shapes)
    assert why in CHECKS["linear_cross_entropy"](Node("linear_cross_entropy", inputs)).why
