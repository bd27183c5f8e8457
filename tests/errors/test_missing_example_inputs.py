"""Example inputs that are missing or do not fit the signature of `forward`."""

import pytest
import torch
from torch import nn

import strop


class TwoInputs(nn.Module):
    def forward(self, x, y, *, scale):
        return (x + y) * scale


@pytest.mark.parametrize("make", [strop.compile, strop.Session])
def test_none_at_all(make):
    with pytest.raises(strop.Problem) as caught:
        make(nn.Linear(4, 2))
    assert caught.value.code == "STR102" and "Linear.forward" in caught.value.where and "tuple" in caught.value.help


@pytest.mark.parametrize(
    ("args", "kwargs", "missing"),
    [((torch.ones(2),), {}, "'y'"), ((torch.ones(2), torch.ones(2)), {}, "'scale'"), ((), {"scale": 2.0}, "'x'")],
)
def test_one_of_them(args, kwargs, missing):
    with pytest.raises(strop.Problem, match=missing) as caught:
        strop.compile(TwoInputs(), args, kwargs)
    assert caught.value.code == "STR001" and "TwoInputs.forward" in caught.value.where


def test_too_many():
    with pytest.raises(strop.Problem, match="too many positional arguments"):
        strop.compile(nn.Linear(4, 2), (torch.ones(4), torch.ones(4)))


def test_a_model_that_takes_nothing_needs_none():
    class Source(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.arange(3.0))

        def forward(self):
            return self.weight * 2

    fast = strop.compile(Source())
    with torch.no_grad():
        assert fast().tolist() == [0.0, 2.0, 4.0]
