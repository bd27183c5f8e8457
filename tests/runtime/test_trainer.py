"""`strop.compile(…, training=True)`: a module in, a module out, and what is refused."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

import strop
from runtime.training import same
from strop.core.journal import Journal
from strop.graph.passes.partition import Recompute


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))


def step(model: nn.Module, x: Tensor, seed: int = 0) -> list[Tensor]:
    torch.manual_seed(seed)
    model.zero_grad()
    model(x).square().mean().backward()
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_it_trains_the_parameters_of_the_model_and_infers_without_gradients() -> None:
    torch._dynamo.reset()
    model, x, journal = network(), torch.randn(4, 6), Journal()
    twin = copy.deepcopy(model)
    generator = torch.get_rng_state()
    fast = strop.compile(model, (x,), training=True, journal=journal)
    assert torch.equal(generator, torch.get_rng_state())  # compiling leaves no trace
    same(model[1].running_mean, twin[1].running_mean)
    assert fast.state_dict().keys() == model.state_dict().keys()
    for seed in range(2):
        for mine, theirs in zip(step(fast, x, seed), step(twin, x, seed)):
            same(mine, theirs)
    same(model[1].running_var, twin[1].running_var)
    assert model[0].weight.grad is not None
    fast.eval()
    twin.eval()
    with torch.no_grad():
        same(fast(x), twin(x))
    assert not [event for event in journal.of("fallback") if "runs eager" in event.message]


def test_copies_and_pickles_train_by_themselves() -> None:
    torch._dynamo.reset()
    x = torch.randn(4, 6)
    fast = strop.compile(network(), (x,), training=True)
    wanted = step(fast, x)
    for twin in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        for mine, theirs in zip(step(twin, x), wanted):
            same(mine, theirs)
        assert twin[0].weight is not fast[0].weight


@pytest.mark.parametrize("share", [1.0, 0.8, 0.6, 0.4, 0.2])
def test_a_budget_is_kept_to_as_measured(share: float) -> None:
    """Of what is saved for backward, all that is neither a parameter nor an input."""
    x = torch.randn(128, 64)

    def measured(memory: str | int) -> int:
        torch._dynamo.reset()
        torch.manual_seed(0)
        layers = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64))]
        fast = strop.compile(nn.Sequential(*layers), (x,), training=True, memory=memory)
        given = {tensor.data_ptr() for tensor in (x, *fast.parameters())}
        saved: dict[int, int] = {}

        def pack(tensor: Tensor) -> Tensor:
            saved[tensor.data_ptr()] = tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = fast(x)
        assert result.requires_grad
        return sum(size for address, size in saved.items() if address not in given)

    fastest = measured("fastest")
    budget = int(share * fastest)
    assert 0 < measured(budget) <= budget


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if y.sum() > 0:
            y = y * 2
        return y.sin()


def test_a_model_that_dynamo_cannot_trace_whole_is_refused_unless_partial() -> None:
    torch._dynamo.reset()
    x = torch.randn(4, 6)
    with pytest.raises(strop.Problem, match="branching") as refused:
        strop.compile(Branch(), (x,), training=True)
    assert refused.value.code == "STR101" and "test_trainer.py" in str(refused.value)
    model = Branch()
    twin = copy.deepcopy(model)
    fast = strop.compile(model, (x,), training=True, partial=True)
    for mine, theirs in zip(step(fast, x), step(twin, x)):
        same(mine, theirs)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"memory": 10}, "STR308"),
        ({"memory": "least"}, "STR001"),
        ({"partition": "keep{value=nothing}"}, "STR301"),
        ({"partition": "keep("}, "STR302"),
        ({"release": True}, "STR001"),
    ],
)
def test_what_cannot_be_is_refused_with_a_code(settings: dict[str, object], code: str) -> None:
    torch._dynamo.reset()
    with pytest.raises(strop.Problem) as refused:
        strop.compile(network(), (torch.randn(4, 6),), training=True, **settings)
    assert refused.value.code == code


def test_a_person_decides_what_is_kept() -> None:
    torch._dynamo.reset()
    x = torch.randn(64, 6)
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.Tanh())
    twin, journal = copy.deepcopy(model), Journal()
    fast = strop.compile(model, (x,), training=True, journal=journal)
    kept = [event.subject for event in journal.of("choice") if event.message.startswith("keep{")]
    torch._dynamo.reset()
    other, partition = Journal(), str(Recompute(kept[0]))
    again = strop.compile(copy.deepcopy(twin), (x,), training=True, journal=other, partition=partition)
    assert any(event.subject == kept[0] and event.message.startswith(partition) for event in other.of("choice"))
    for each in (fast, again):
        for mine, theirs in zip(step(each, x), step(twin, x)):
            same(mine, theirs)


def test_compiling_leaves_attributes_and_buffers_of_the_model_as_they_were() -> None:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.calls = nn.Linear(6, 4), 0
            self.register_buffer("average", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.linear(x)
            self.calls += 1
            self.average = 0.9 * self.average + y.detach().mean(0)
            return y * self.average

    model, x = Remembers(), torch.randn(3, 6)
    twin = copy.deepcopy(model)
    fast = strop.compile(model, (x,), training=True)
    assert model.calls == 0 and torch.equal(model.average, torch.zeros(4))
    for mine, theirs in zip(step(fast, x), step(twin, x)):
        same(mine, theirs)
    same(model.average, twin.average)
