"""Recurrent layers train as compiled code, with eager's gradients and eager's random numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import strop
from runtime.training import Pair, same
from strop.core.journal import Journal
from strop.runtime.trainer import allowing_recurrence

CLASSES = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


def train(model: nn.Module, *inputs: Any, seed: int = 0) -> Pair:
    """One step of both, of a loss that uses the states at all times and the last ones."""
    pair = Pair(model)

    def run(each: Any) -> Tensor:
        out, last = each(*inputs)
        ends = last if isinstance(last, tuple) else (last,)
        (out.square().mean() + sum(end.sin().mean() for end in ends)).backward()
        return out.detach()

    with allowing_recurrence():
        same(*pair.both(run, seed))
    pair.compare()
    return pair


@pytest.mark.parametrize(
    "form",
    [
        {"num_layers": 2, "bidirectional": True, "batch_first": True, "dropout": 0.4},
        {"bias": False},
    ],
    ids=["deep", "no-bias"],
)
@pytest.mark.parametrize("kind", CLASSES)
def test_gradients_equal_eager(kind: str, form: dict[str, Any]) -> None:
    assert not train(CLASSES[kind](5, 8, **form), torch.randn(6, 3, 5), seed=3).reasons


def test_relu_cells_let_gradients_through_where_eager_does() -> None:
    assert not train(nn.RNN(5, 8, nonlinearity="relu"), torch.randn(6, 3, 5)).reasons


def test_the_first_states_are_given_and_have_gradients() -> None:
    x, begin = torch.randn(6, 3, 5, requires_grad=True), [torch.randn(2, 3, 8, requires_grad=True) for _ in range(2)]
    pair = Pair(nn.LSTM(5, 8, 2))
    with allowing_recurrence():
        found = pair.both(lambda model: torch.autograd.grad(model(x, tuple(begin))[0].square().sum(), (x, *begin)))
    for mine, theirs in zip(*found):
        same(mine, theirs)
    assert not pair.reasons


def test_a_sequence_without_a_batch() -> None:
    assert not train(nn.GRU(5, 8), torch.randn(6, 5)).reasons


def test_results_may_be_written_to() -> None:
    class Clipped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(5, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.gru(x)[0].relu_()

    pair = Pair(Clipped())
    with allowing_recurrence():
        pair.step(torch.randn(6, 3, 5))
    assert not pair.reasons


def test_lengths_change() -> None:
    pair = Pair(nn.GRU(5, 8))
    with allowing_recurrence():
        for length in (6, 4, 7):
            x = torch.randn(length, 3, 5)
            same(*pair.both(lambda model, x=x: model(x)[0].square().mean().backward()))
            pair.compare()
    assert not pair.reasons


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning", "ignore:LSTM with projections")
def test_a_projected_state_runs_as_it_is_with_a_reason() -> None:
    assert "projects its state" in train(nn.LSTM(5, 8, proj_size=3), torch.randn(6, 3, 5)).reasons


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
def test_packed_sequences_run_as_they_are() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(6, 3, 5), [6, 4, 2])
    pair = Pair(nn.GRU(5, 8))
    with allowing_recurrence():
        same(*pair.both(lambda model: (model(packed)[0].data.square().mean().backward(), torch.ones(1))[1]))
    pair.compare()


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
def test_autocast_runs_as_it_is_with_a_reason() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(5, 8)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return self.lstm(x)[0].float()

    pair = Pair(Half())
    with allowing_recurrence():
        pair.step(torch.randn(6, 3, 5))
    assert "autocast" in pair.reasons


def test_strop_compile_needs_no_switch_of_dynamo() -> None:
    torch._dynamo.reset()

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(8, 16, 2, batch_first=True), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.lstm(x)[0])

    x, journal = torch.randn(2, 5, 8), Journal()
    fast = strop.compile(Tagger(), (x,), training=True, journal=journal)
    fast(x).square().mean().backward()
    assert fast.lstm.weight_hh_l1.grad is not None
    assert not [event for event in journal.of("fallback") if "runs eager" in event.message]
