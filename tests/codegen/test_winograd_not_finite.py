"""NaN, infinities and overflows stay where eager has them, although a Winograd tile spreads them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop import Options, Session

BAD = [float("nan"), float("inf"), float("-inf"), 3e38]


class Net(nn.Module):
    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.head = nn.Conv2d(32, 32, 3, padding=1), head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.conv(x))


def compiled(head: nn.Module, x: torch.Tensor, **options: object) -> Session:
    session = Session(Net(head).eval(), (x,), options=Options(cache=False, **options), threads=1)
    assert any("Winograd" in event.message for event in session.journal.events if event.kind == "choice")
    return session


@torch.no_grad()
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("head", [nn.ReLU(), nn.Sigmoid()], ids=["relu", "sigmoid"])
def test_what_is_not_finite_stays_where_eager_has_it(bad, head):
    x = torch.rand(1, 32, 28, 28)
    session = compiled(head, x)
    x[0, 3, 10, 17] = bad
    for model in (session.module, strop.compile(session.original, x, cache=False, threads=1)):
        torch.testing.assert_close(model(x), session.original(x), rtol=1e-4, atol=1e-4, equal_nan=True)


@torch.no_grad()
def test_only_such_calls_are_computed_again_and_the_journal_says_so_once():
    x = torch.rand(1, 32, 28, 28)
    session = compiled(nn.ReLU(), x)
    session.module(x)
    assert session.program._again.program is None
    bad = x.clone()
    bad[0, 0, 0, 0] = float("nan")
    session.module(bad), session.module(bad)
    told = [event for event in session.journal.events if "computed again" in event.message]
    assert len(told) == 1 and "NaN" in told[0].message
    torch.testing.assert_close(session.module(x), session.original(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_calls_that_are_computed_again_use_the_weights_as_they_are_now():
    x = torch.rand(1, 32, 28, 28)
    session = compiled(nn.ReLU(), x)
    x[0, 0, 5, 5] = float("inf")
    session.module(x)
    session.original.conv.weight.mul_(2)
    torch.testing.assert_close(session.module(x), session.original(x), rtol=1e-4, atol=1e-4, equal_nan=True)


class Noisy(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + torch.rand(1)


@torch.no_grad()
def test_random_numbers_are_drawn_once_although_the_call_is_computed_twice():
    x = torch.rand(1, 32, 28, 28)
    model = Noisy(nn.ReLU()).eval()
    fast = strop.compile(model, x, cache=False, threads=1)
    x[0, 0, 0, 0] = float("nan")
    torch.manual_seed(7)
    expected, state = model(x), torch.get_rng_state()
    torch.manual_seed(7)
    torch.testing.assert_close(fast(x), expected, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert torch.equal(torch.get_rng_state(), state)


def test_threads_that_report_at_once_do_not_undo_each_others_report():
    x = torch.rand(1, 32, 28, 28)
    session = compiled(nn.ReLU(), x)
    (nest,) = [part for part in dict.fromkeys(session.stages.functions.parts.values()) if "fcmp uno" in part]
    assert "store i8 1" in nest and "load i64, ptr %status" not in nest
