"""Library steps: what one hands to the next stays as its operator gave it; what native code or callers see is dense."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import strop
from frontend.beside import Calls


def attention(x: Tensor) -> Tensor:
    q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in x.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def transposed_then_flat(x: Tensor) -> Tensor:
    return x.transpose(0, 1).contiguous().view(-1) * 2


def strided(x: Tensor) -> Tensor:
    return torch.as_strided(x.t().contiguous() * 2, (2, 3), (3, 1)) + 1


def through_complex_numbers(x: Tensor) -> Tensor:
    """A view of what native code wrote, used after native code has written more."""
    pairs = torch.view_as_complex((x * 2 + 1).reshape(-1, 2))
    more = ((x - 1).exp() @ x.t()).sum() + (x * 3).softmax(-1).sum()
    return torch.view_as_real(pairs * pairs.conj()).sum(-1) + more


def in_and_out(x: Tensor) -> tuple[Tensor, Tensor]:
    """Half precision between float32, both transposed on the way."""
    inside = F.gelu(x @ x.t()).t().bfloat16()
    turned = inside.t()
    return (turned * turned).t().float().softmax(-1), inside[1] + 1


def session_of(function: Any, *inputs: Tensor) -> strop.Session:
    return strop.Session(Calls(function), inputs, threads=1)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (attention, torch.randn(2, 5, 24).bfloat16()),
        (transposed_then_flat, torch.randn(3, 4, 5).half()),
        (strided, torch.randn(4, 6).half()),
        (through_complex_numbers, torch.randn(6, 8)),
        (in_and_out, torch.randn(6, 8)),
    ],
)
@torch.no_grad()
def test_equals_eager(function: Any, x: Tensor) -> None:
    session = session_of(function, x)
    for _ in range(3):
        given = torch.randn(x.shape).to(x.dtype)
        torch.testing.assert_close(session.module(given), function(given), rtol=2e-2, atol=2e-2)


def test_transposed_heads_are_not_copied_and_what_is_used_up_is_released() -> None:
    steps = session_of(attention, torch.randn(2, 5, 24).bfloat16()).compiled.steps
    views = {step.attrs["target"]: step.views for step in steps}
    assert views["aten.transpose.int"] and views["aten.scaled_dot_product_attention.default"]
    made = [slot for step in steps if step.views for slot in step.outputs]
    released = [slot for step in steps for slot in step.releases]
    assert sorted(released) == sorted(made)


@torch.no_grad()
def test_outputs_share_no_memory_with_inputs() -> None:
    function, x = (lambda x: (x.t()[1:] * 1, x[1].clone())), torch.randn(4, 4).bfloat16()
    session = session_of(function, x)
    kept = x.clone()
    for result in session.module(x):
        result.zero_()
    assert torch.equal(x, kept)
