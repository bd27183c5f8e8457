"""What can't be captured says where, why and what to do next."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from strop.core.problem import Problem
from strop.frontend.torch.export import capture
from strop.frontend.torch.normalize import trace


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return -x


def test_a_branch_on_data_names_the_line_and_the_way_out() -> None:
    with pytest.raises(Problem) as caught:
        capture(Branch(), (torch.randn(3),))
    assert caught.value.code in ("STR101", "STR106")
    assert (caught.value.where.file, caught.value.where.line) == (  # type: ignore[attr-defined]
        __file__,
        inspect.getsourcelines(Branch.forward)[1] + 1,
    )
    assert "partial=True" in caught.value.help


class Masked(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0].exp()


def test_a_shape_that_depends_on_data_names_the_line() -> None:
    with pytest.raises(Problem) as caught:
        capture(Masked(), (torch.randn(3),))
    assert caught.value.code == "STR106"
    assert caught.value.where.line == inspect.getsourcelines(Masked.forward)[1] + 1  # type: ignore[attr-defined]


class MaskedAfterACast(nn.Module):
    """The write has it traced twice, with a check of dtypes that has no shape, so that all shapes are computed afresh."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[0] = 1
        return y.to(torch.float64)[x > 0].exp()


class List(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.tensor(x.tolist())


class Number(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros(int(x.sum().item()))


@pytest.mark.parametrize("model", [MaskedAfterACast, List, Number])
def test_nothing_that_torch_raises_for_data_leaks(model: type[nn.Module]) -> None:
    with pytest.raises(Problem) as caught:
        capture(model(), (torch.randn(3).abs(),))
    assert caught.value.code == "STR106" and "depends on data" in caught.value.message
    first = inspect.getsourcelines(model.forward)[1]
    assert first < caught.value.where.line <= first + 4  # type: ignore[attr-defined]
    assert "partial=True" in caught.value.help


def test_an_error_of_the_model_itself_is_told() -> None:
    with pytest.raises(Problem, match=r"reduction dim|cannot be multiplied"):
        capture(nn.Linear(3, 4), (torch.randn(2, 5),))


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: x * x.max().item(), "STR106"),
        (lambda x: x.nonzero(), "STR106"),
        (lambda x: x.to_sparse(), "STR104"),
        (lambda x: x.to(torch.float8_e4m3fn), "STR104"),
    ],
)
def test_operators_out_of_reach(function: Any, code: str) -> None:
    with pytest.raises(Problem) as caught:
        trace(function, torch.randn(3, 3))
    assert caught.value.code == code


@pytest.mark.parametrize("args", [torch.randn(3), [torch.randn(3)]])
def test_example_inputs_must_be_a_tuple(args: Any) -> None:
    with pytest.raises(Problem) as caught:
        capture(nn.ReLU(), args)
    assert caught.value.code == "STR001"


def test_the_model_must_be_a_module() -> None:
    with pytest.raises(Problem) as caught:
        capture(torch.relu, (torch.randn(3),))  # type: ignore[arg-type]
    assert caught.value.code == "STR001"


def test_another_device_is_refused() -> None:
    with pytest.raises(Problem) as caught:
        capture(nn.Linear(3, 4, device="meta"), (torch.randn(2, 3),))
    assert caught.value.code == "STR103"
