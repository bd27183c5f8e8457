"""Whatever happens to a module between two calls, the compiled one equals eager after every step."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from torch import Tensor, nn

from runtime.standin import Builder
from strop.core.options import Options
from strop.runtime.compile_model import compile, default_build, default_trace
from strop.runtime.module import CompiledModule
from strop.runtime.specializations import Traced

ROWS = (6, 9)  # few rows would make training-mode batch norm ill-conditioned
MODES: dict[str, Any] = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}


class Net(nn.Module):
    """Weights to fold and pack, state that training changes, random numbers, views of a buffer and an input."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.4)
        self.last = nn.Linear(6, 3, bias=False)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        self.calls += 1
        hidden = self.drop(torch.relu(self.norm(self.first(x))))
        return self.last(hidden) * scale, x.t(), self.calls


_traced: dict[Any, Traced] = {}


def trace(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Tracing takes most of the time and depends on nothing but these."""
    key = model.last.weight.dtype, args[0].shape, args[0].dtype, args[1:], *(m.training for m in model.modules())
    if key not in _traced:
        _traced[key] = default_trace(model, args, kwargs)
    return _traced[key]


class Life(RuleBasedStateMachine):
    tolerance = 1e-4

    def build(self) -> Any:
        return Builder()

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.eager = Net()
        self.model = copy.deepcopy(self.eager)
        options = Options(max_variants=6, cache=False)
        made = compile(self.model.eval(), (torch.randn(6, 5),), options=options, trace=trace, build=self.build())
        assert isinstance(made, CompiledModule)
        self.fast = made
        self.model.train()
        self.rows = 6
        self.mode = "no_grad"
        self.scale = 1.0
        self.steps = 0

    @property
    def both(self) -> tuple[Net, Net]:
        return self.model, self.eager

    def context(self) -> AbstractContextManager[Any]:
        return MODES[self.mode]()  # type: ignore[no-any-return]

    def inputs(self, seed: int, rows: int) -> Tensor:
        noise = torch.Generator().manual_seed(seed)
        return torch.randn(rows, 5, generator=noise, dtype=self.eager.last.weight.dtype)

    @rule(mode=st.booleans(), through=st.sampled_from(["compiled", "original", "norm"]))
    def train(self, mode: bool, through: str) -> None:
        self.eager.get_submodule("norm" if through == "norm" else "").train(mode)
        if through == "compiled":
            self.fast.train(mode)
        else:
            self.model.get_submodule("norm" if through == "norm" else "").train(mode)

    @rule(mode=st.sampled_from(sorted(MODES)))
    def grad_mode(self, mode: str) -> None:
        self.mode = mode

    @rule(rows=st.sampled_from(ROWS))
    def shape(self, rows: int) -> None:
        self.rows = rows

    @rule(scale=st.sampled_from([1.0, 2.5]))
    def argument(self, scale: float) -> None:
        self.scale = scale

    @rule(threads=st.sampled_from([1, 2]))
    def threads(self, threads: int) -> None:
        torch.set_num_threads(threads)

    @rule(kind=st.sampled_from(["SGD", "AdamW"]), fused=st.booleans())
    def optimise(self, kind: str, fused: bool) -> None:
        for model in self.both:
            noise = torch.Generator().manual_seed(self.steps)
            optimiser = getattr(torch.optim, kind)(model.parameters(), lr=0.05, fused=fused)
            for parameter in model.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=noise).to(parameter.dtype)
            optimiser.step()
            optimiser.zero_grad()

    @rule()
    def backward(self) -> None:
        if not self.eager.last.weight.requires_grad:
            return
        for called in (self.fast, self.eager):
            torch.manual_seed(self.steps)
            with torch.enable_grad():
                called(self.inputs(self.steps, 6))[0].square().sum().backward()
        for mine, theirs in zip(self.model.parameters(), self.eager.parameters()):
            self.agree(mine.grad, theirs.grad)
            mine.grad = theirs.grad = None

    @rule(dtype=st.sampled_from([torch.float32, torch.float64]), through=st.booleans())
    def to(self, dtype: torch.dtype, through: bool) -> None:
        (self.fast if through else self.model).to(dtype)
        self.eager.to(dtype)

    @rule(seed=st.integers(0, 3), assign=st.booleans(), through=st.booleans())
    def load(self, seed: int, assign: bool, through: bool) -> None:
        noise = torch.Generator().manual_seed(seed)
        state = {
            key: torch.rand(t.shape, generator=noise).to(t.dtype) if t.is_floating_point() else t.clone()
            for key, t in self.eager.state_dict().items()
        }
        (self.fast if through else self.model).load_state_dict(copy.deepcopy(state), assign=assign)
        self.eager.load_state_dict(copy.deepcopy(state), assign=assign)

    @rule(how=st.sampled_from(["in place", "data", "replace", "unseen"]))
    def write(self, how: str) -> None:
        for model in self.both:
            weight = model.last.weight
            with torch.no_grad():
                if how == "in place":
                    weight.mul_(0.5)
                elif how == "data":
                    weight.data = weight.data + 1
                elif how == "replace":
                    model.last.weight = nn.Parameter(weight.detach() - 1)
                else:
                    weight.data.add_(0.25)
        if how == "unseen":
            self.fast.refresh()

    @rule(frozen=st.booleans())
    def freeze(self, frozen: bool) -> None:
        for model in self.both:
            model.requires_grad_(not frozen)

    @rule()
    def two_threads(self) -> None:
        if any(module.training for module in self.eager.modules()):
            return
        given = [self.inputs(seed, ROWS[seed % 2]) for seed in range(6)]

        def call(x: Tensor) -> Tensor:
            with torch.no_grad():
                return self.fast(x)[0]

        with ThreadPoolExecutor(2) as pool:
            got = list(pool.map(call, given))
        with torch.no_grad():
            for x, value in zip(given, got):
                self.agree(value, self.eager(x)[0])
            self.model.calls.copy_(self.eager.calls)

    @invariant()
    def equals_eager(self) -> None:
        self.steps += 1
        x = self.inputs(self.steps, self.rows)
        with self.context():
            for _ in range(2):
                torch.manual_seed(self.steps)
                got = self.fast(x, self.scale) if self.scale != 1.0 else self.fast(x)
                torch.manual_seed(self.steps)
                wanted = self.eager(x, self.scale)
                self.agree(got, wanted)
                assert got[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
                assert got[2] is self.model.calls
                assert [t.requires_grad for t in got] == [t.requires_grad for t in wanted]
                assert [t.is_inference() for t in got] == [t.is_inference() for t in wanted]
        self.agree(self.model.state_dict(), self.eager.state_dict())
        assert not [event for event in self.fast.journal.of("fallback") if "could not be compiled" in event.message]

    def agree(self, got: Any, wanted: Any) -> None:
        torch.testing.assert_close(got, wanted, rtol=self.tolerance, atol=self.tolerance)

    def teardown(self) -> None:
        torch.set_num_threads(1)


class NativeLife(Life):
    def build(self) -> Any:
        return default_build


_settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestReference = Life.TestCase
TestReference.settings = _settings
TestNative = NativeLife.TestCase
TestNative.settings = settings(_settings, max_examples=8)
