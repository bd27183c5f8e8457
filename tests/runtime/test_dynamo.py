"""The Dynamo backend: shapes, parameters and aliases as in eager, one graph for all shapes after the first."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from runtime.standin import Builder
from strop.core.journal import Journal, StropWarning
from strop.core.options import Options
from strop.core.problem import Problem
from strop.runtime.dynamo import Backend, backend


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout()
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x: Tensor, scale: int = 2) -> tuple[Any, ...]:
        self.calls.add_(1)
        y = self.drop(self.norm(self.linear(x))) * scale
        return y, x.view(-1), y.t(), x.shape[0], self.calls[1:], x, (x * 2).t(), self.linear.weight.t()


class Door:
    """A network behind the backend, with stand-in programs, beside an eager twin."""

    def __init__(self, **options: Any) -> None:
        torch._dynamo.reset()
        self.model = Net().eval()
        self.twin = copy.deepcopy(self.model)
        self.built = Builder()
        self.journal = Journal()
        self.fast = torch.compile(self.model, backend=Backend(Options(**options), self.journal, self.built))

    @torch.no_grad()
    def compare(self, *args: Any) -> tuple[Any, ...]:
        self.twin.load_state_dict(self.model.state_dict())
        got, wanted = self.fast(*args), self.twin(*args)
        torch.testing.assert_close(got, wanted)
        for mine, theirs in zip(got, wanted):
            assert not isinstance(mine, Tensor) or mine.stride() == theirs.stride()
        torch.testing.assert_close(self.model.calls, self.twin.calls)
        return got

    @property
    def reasons(self) -> str:
        return " ".join(event.message for event in self.journal.of("fallback"))


def test_every_shape_has_its_variant_though_dynamo_compiles_twice() -> None:
    door = Door()
    for rows in (2, 3, 5, 3):
        door.compare(torch.randn(rows, 4))
    assert len(door.built.programs) == 3 and door.built.calls == 4 and not door.reasons


def test_past_the_cap_the_graph_runs_as_it_is() -> None:
    door = Door(max_variants=2)
    for rows in (2, 3, 4):
        door.compare(torch.randn(rows, 4))
    with pytest.warns(StropWarning, match="2 variants"):
        door.compare(torch.randn(5, 4))
    assert len(door.built.programs) == 3 and "max_variants" in door.reasons


def test_aliases_of_inputs_and_parameters_are_real() -> None:
    door = Door()
    x = torch.randn(2, 4)
    got = door.compare(x)
    assert got[5] is x and got[1].data_ptr() == x.data_ptr()
    assert got[4].untyped_storage().data_ptr() == door.model.calls.untyped_storage().data_ptr()
    assert got[7].data_ptr() == door.model.linear.weight.data_ptr()


def test_numbers_are_bound_per_call() -> None:
    door = Door()
    for scale in (2, 3, 4, 3):
        door.compare(torch.randn(2, 4), scale)
    assert door.built.calls == 4


def test_parameters_are_bound_when_they_change_only() -> None:
    door = Door()
    x = torch.randn(2, 4)
    for _ in range(3):
        door.compare(x)
    assert door.built.binds == 1
    with torch.no_grad():
        door.model.linear.weight.mul_(2)
    door.compare(x)
    door.model.linear.weight.data = torch.randn(4, 4)
    door.compare(x)
    optimiser = torch.optim.SGD(door.model.parameters(), lr=0.1, fused=True)
    door.model(x)[0].sum().backward()
    optimiser.step()
    door.compare(x)
    assert door.built.binds == 4


def test_training_is_compiled_as_a_forward_and_a_backward_graph() -> None:
    door = Door()
    x = torch.randn(2, 4)
    door.fast(x)[0].sum().backward()
    door.twin(x)[0].sum().backward()
    torch.testing.assert_close(door.model.linear.weight.grad, door.twin.linear.weight.grad)
    assert door.built.calls == 2 and not door.reasons


def test_training_mode_without_gradients() -> None:
    door = Door()
    door.model.train()
    door.model.drop.eval()
    door.twin.train()
    door.twin.drop.eval()
    door.compare(torch.randn(8, 4))
    assert door.built.calls == 1


def test_a_failing_build_leaves_the_graph_as_it_is() -> None:
    torch._dynamo.reset()

    def build(*_: Any) -> Any:
        raise RuntimeError("no such luck")

    fast = torch.compile(nn.Linear(3, 3), backend=Backend(Options(), Journal(), build))
    with pytest.warns(StropWarning, match=r"RuntimeError at test_dynamo.py:\d+: no such luck"), torch.no_grad():
        assert fast(torch.randn(2, 3)).shape == (2, 3)


class Reckless(Builder):
    """Its compiler raises one thing, its programs another."""

    def __init__(self, building: Exception | None, running: Exception | None) -> None:
        super().__init__()
        self.building, self.running = building, running

    def __call__(self, *args: Any) -> Any:
        if self.building is not None:
            raise self.building
        program = super().__call__(*args)
        program.__class__ = type("Raising", (type(program),), {"__call__": self.run})
        return program

    def run(self, *_: Any) -> Any:
        assert self.running is not None
        raise self.running


@pytest.mark.parametrize("error", [IndexError("run"), RuntimeError("run"), MemoryError("run")])
@torch.no_grad()
def test_what_running_raises_goes_to_the_caller(error: Exception) -> None:
    torch._dynamo.reset()
    fast = torch.compile(nn.Linear(3, 3), backend=Backend(Options(), Journal(), Reckless(None, error)))
    with pytest.raises(type(error), match="run"):
        fast(torch.randn(2, 3))


@torch.no_grad()
def test_a_graph_that_runs_as_it_is_runs_once_and_raises_what_it_raises() -> None:
    torch._dynamo.reset()

    def pick(x: Tensor, index: Tensor) -> Tensor:
        return (x + torch.rand(3))[index]

    built = Reckless(Problem("STR107", "no such operator"), None)
    fast = torch.compile(pick, backend=Backend(Options(), Journal(), built))
    torch.manual_seed(0)
    with pytest.warns(StropWarning, match="STR107"), pytest.raises(IndexError):
        fast(torch.ones(3), torch.tensor([7]))
    state = torch.get_rng_state()
    torch.manual_seed(0)
    torch.rand(3)
    assert torch.equal(torch.get_rng_state(), state)


@torch.no_grad()
def test_no_memory_is_no_reason_to_run_eager() -> None:
    torch._dynamo.reset()
    door = Backend(Options(), Journal(), Reckless(MemoryError("while compiling"), None))
    fast = torch.compile(nn.Linear(3, 3), backend=door)
    with pytest.raises(Exception, match="while compiling"):
        fast(torch.randn(2, 3))


@torch.no_grad()
def test_tangents_run_as_it_is() -> None:
    door = Door()
    model, x = nn.Linear(4, 4).requires_grad_(False), torch.randn(3, 4)
    fast = torch.compile(model, backend=Backend(Options(), door.journal, door.built))
    fast(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        tangent = forward_ad.unpack_dual(fast(dual)).tangent
        torch.testing.assert_close(tangent, model.weight.sum(1).expand(3, 4))
    fast(x)
    assert door.built.calls == 2 and "forward-mode" in door.reasons


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(Problem, match=r"STR001.*mode"):
        backend(torch.fx.symbolic_trace(nn.ReLU()), (), mode="fastest")
    with pytest.raises(Problem, match=r"STR001.*speed"):
        backend(torch.fx.symbolic_trace(nn.ReLU()), (), options={"speed": 11})


class Whole(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rms = nn.RMSNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.rms(x)
        return F.scaled_dot_product_attention(x, x, x)


def _operators(built: Builder) -> list[str]:
    return [n.op for p in built.programs for n in p.graph.nodes if n.op not in ("input", "param", "item")]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_norms_and_attention_stay_whole(mode: Any) -> None:
    torch._dynamo.reset()
    model, built = Whole().eval(), Builder()
    fast = torch.compile(model, backend=Backend(Options(), Journal(), built))
    x = torch.randn(1, 2, 5, 8)
    with mode():
        torch.testing.assert_close(fast(x), model(x))
    assert _operators(built) == ["rms_norm", "attention"]


def test_frozen_parameters_need_no_gradients() -> None:
    torch._dynamo.reset()
    model, built = Whole().eval().requires_grad_(False), Builder()
    fast = torch.compile(model, backend=Backend(Options(), Journal(), built))
    x = torch.randn(1, 2, 5, 8)
    torch.testing.assert_close(fast(x), model(x))
    assert _operators(built) == ["rms_norm", "attention"]


@pytest.mark.parametrize("of_input", [False, True])
def test_gradients_flow_through_what_would_stay_whole(of_input: bool) -> None:
    torch._dynamo.reset()
    model, built = Whole().requires_grad_(not of_input), Builder()
    fast = torch.compile(model, backend=Backend(Options(), Journal(), built))
    x = torch.randn(1, 2, 5, 8, requires_grad=of_input)
    leaf = x if of_input else model.rms.weight
    found, wanted = (torch.autograd.grad(run(x).square().sum(), leaf)[0] for run in (fast, model))
    torch.testing.assert_close(found, wanted)
    assert len(built.programs) == 2


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1]).sigmoid()


@pytest.mark.parametrize("allowed", [False, True])
def test_recurrent_networks_reach_the_backend_if_dynamo_may_trace_them(allowed: bool) -> None:
    """Otherwise Dynamo leaves the whole function that uses one to Python, in silence."""
    torch._dynamo.reset()
    model, built = Recurrent().eval(), Builder()
    x = torch.randn(2, 3, 4)
    with torch._dynamo.config.patch(allow_rnn=allowed), torch.no_grad():
        fast = torch.compile(model, backend=Backend(Options(), Journal(), built))
        torch.testing.assert_close(fast(x), model(x))
    assert _operators(built) == (["full", "full", "lstm", "select", "linear", "sigmoid"] if allowed else [])


def test_a_backend_may_be_copied_with_the_arguments_of_compile():
    backend = Backend(Options(), Journal())
    assert copy.deepcopy({"backend": backend})["backend"] is backend
