"""What else a training loop does to a model: swaps its tensors, changes its batches, copies it, interrupts it."""

from __future__ import annotations

import copy
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import swap_tensors

import strop
from runtime.training import Pair, same, short_steps
from strop.core.journal import Journal, StropWarning
from strop.core.options import Options
from strop.runtime.dynamo import Backend


@pytest.fixture(autouse=True, scope="module")
def at_once() -> Iterator[None]:
    with short_steps():
        yield


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))


def test_swapped_parameters_are_trained() -> None:
    torch._dynamo.reset()
    model, x = network(), torch.randn(4, 6)
    fast = torch.compile(model, backend="strop")
    fast(x).sum().backward()
    model.zero_grad()
    swap_tensors(model[0].weight, nn.Parameter(torch.randn(8, 6)))
    twin = copy.deepcopy(model)
    for each in (fast, twin):
        each(x).square().mean().backward()
    for mine, theirs in zip(model.parameters(), twin.parameters()):
        same(mine.grad, theirs.grad)


def test_tensors_that_strop_compile_watches_are_not_swapped() -> None:
    """It holds weak references to parameters, to notice other ones; torch says so."""
    torch._dynamo.reset()
    fast = strop.compile(network(), (torch.randn(4, 6),), training=True)
    with pytest.raises(RuntimeError, match="weakref"):
        swap_tensors(fast[0].weight, nn.Parameter(torch.randn(8, 6)))


def test_batch_sizes_do_not_compile_for_ever() -> None:
    """Dynamo traces twice, the second time for all sizes; native code is made for as many as `max_variants` says."""
    traced: list[int] = []

    class Counting(Backend):
        def __call__(self, *given: Any) -> Any:
            traced.append(1)
            return super().__call__(*given)

    torch._dynamo.reset()
    model, journal = network(), Journal()
    twin = copy.deepcopy(model)
    fast = torch.compile(model, backend=Counting(Options(max_variants=3), journal))
    with pytest.warns(StropWarning, match="variants"):
        for rows in (9, 8, 7, 6, 5, 4, 3, 9, 8, 7, 6, 5, 4, 3):
            x = torch.randn(rows, 6)
            model.zero_grad()
            twin.zero_grad()
            fast(x).square().mean().backward()
            twin(x).square().mean().backward()
            for mine, theirs in zip(model.parameters(), twin.parameters()):
                same(mine.grad, theirs.grad)
    assert len(traced) == 2
    made = [event for event in journal.events if event.subject == "compile a variant"]
    assert len(made) <= 2 * (1 + 3)  # two halves, of the first graph and of the one for all sizes


def test_models_of_one_class_have_gradients_of_their_own() -> None:
    torch._dynamo.reset()
    models = [network() for _ in range(3)]
    twins = [copy.deepcopy(model) for model in models]
    backend = Backend(Options(), Journal())
    x = torch.randn(4, 6)
    losses = [torch.compile(model, backend=backend)(x).square().mean() for model in models]
    for loss in reversed(losses):
        loss.backward()
    for model, twin in zip(models, twins):
        twin(x).square().mean().backward()
        for mine, theirs in zip(model.parameters(), twin.parameters()):
            same(mine.grad, theirs.grad)


def test_a_copy_of_a_compiled_module_trains_by_itself() -> None:
    torch._dynamo.reset()
    x, fast = torch.randn(4, 6), torch.compile(network(), backend="strop")
    fast(x).square().mean().backward()
    other = copy.deepcopy(fast)
    other.zero_grad()
    other(x).square().mean().backward()
    for mine, theirs in zip(other.parameters(), fast.parameters()):
        assert mine is not theirs
        same(mine.grad, theirs.grad)


def test_signals_in_the_middle_of_steps_leave_the_next_step_right() -> None:
    """Ctrl-C comes at any moment: in native code, between two calls, in the backward that other code drives."""
    pair = Pair(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 32)))
    x = torch.randn(64, 64)
    pair.step(x)
    interrupted = 0

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + number % 30))
                for _ in range(20):
                    pair.fast(x).square().mean().backward()
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 10
    for model in (pair.model, pair.twin):
        model.zero_grad()
    pair.step(x)


def test_what_fails_in_a_step_leaves_parameters_and_optimizer_alone() -> None:
    class Embeds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 2)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.embed(tokens))

    pair = Pair(Embeds())
    optimiser = torch.optim.AdamW(pair.model.parameters(), lr=0.1)
    pair.step(torch.tensor([1, 2]))
    optimiser.step()
    optimiser.zero_grad()
    parameters = [p.detach().clone() for p in pair.model.parameters()]
    state = copy.deepcopy(optimiser.state_dict())
    with pytest.raises(IndexError):
        pair.fast(torch.tensor([1, 7])).sum().backward()
    assert all(torch.equal(mine, was) for mine, was in zip(pair.model.parameters(), parameters))
    assert all(p.grad is None for p in pair.model.parameters())
    for mine, was in zip(optimiser.state_dict()["state"].values(), state["state"].values()):
        assert all(torch.equal(mine[key], was[key]) for key in was)
    pair.model.load_state_dict(pair.twin.state_dict())
    pair.twin.zero_grad()
    pair.step(torch.tensor([1, 2]))
