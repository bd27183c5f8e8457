"""Parameters may change in many ways between two calls; the compiled module follows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from runtime.standin import compiled

Net = nn.Sequential


def net() -> Net:
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).eval()


def fused_step(model: Net) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    with torch.enable_grad():
        model(torch.randn(3, 4)).sum().backward()
    optimiser.step()


def data(model: Net) -> None:
    model[0].weight.data = torch.randn(4, 4)


def twice_data(model: Net) -> None:
    """The second block may lie where the first one was."""
    for _ in range(2):
        model[0].weight.data = torch.randn(4, 4)


def replaced_by_equal(model: Net) -> None:
    model[3].bias = nn.Parameter(model[3].bias.clone())
    model[3].bias.add_(1)


def submodule(model: Net) -> None:
    model[2] = nn.Sigmoid()


def reordered(model: Net) -> None:
    model._modules["2"] = model._modules.pop("2")


def load_assign(model: Net) -> None:
    model.load_state_dict({key: torch.rand_like(t) if t.is_floating_point() else t for key, t in
                           model.state_dict().items()}, assign=True)  # fmt: skip


CHANGES: dict[str, Callable[[Net], object]] = {
    "in place": lambda m: m[0].weight.mul_(2),
    "a buffer in place": lambda m: m[1].running_mean.add_(1),
    "data": data,
    "data twice": twice_data,
    "an equal parameter": replaced_by_equal,
    "another submodule": submodule,
    "one more submodule": lambda m: m.append(nn.Tanh()),
    "fused optimiser": fused_step,
    "load_state_dict": lambda m: m.load_state_dict(net().state_dict()),
    "load_state_dict with assign": load_assign,
    "init": lambda m: nn.init.zeros_(m[3].weight),
    "no bias any more": lambda m: m[0].register_parameter("bias", None),
    "share_memory": lambda m: m.share_memory(),
    "another order": reordered,
    "another buffer": lambda m: setattr(m[1], "running_mean", torch.ones(4)),
    "another storage": lambda m: m[0].weight.set_(torch.randn(4, 4)),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_every_visible_change_is_followed(change: str) -> None:
    torch.manual_seed(0)
    model = net()
    x = torch.randn(3, 4)
    fast, built = compiled(model, x)
    for _ in range(3):
        fast(x)
    CHANGES[change](model)
    for _ in range(2):
        torch.testing.assert_close(fast(x), model(x))
    assert built.calls == 5


class Closures(nn.Module):
    """Its code holds on to the module itself, past the attributes that a trace can replace."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.body = lambda x: self.norm(self.linear(x))
        self.again = torch.compile(self.linear.forward, backend="eager")

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.body(x))


def test_parameters_behind_closures_are_no_constants() -> None:
    model = Closures().eval()
    fast, built = compiled(model, torch.randn(2, 4))
    x = torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
        model.linear.weight.mul_(2)
        model.norm.running_mean.add_(1)
        torch.testing.assert_close(fast(x), model(x))
    assert built.calls == 2


@torch.no_grad()
def test_unchanged_parameters_are_bound_once() -> None:
    fast, built = compiled(net(), torch.randn(3, 4))
    for size in (3, 3, 5, 3, 5):
        fast(torch.randn(size, 4))
    assert built.binds == 2 and built.calls == 5


@torch.no_grad()
def test_the_step_of_a_foreign_optimiser_binds_nothing() -> None:
    fast, built = compiled(net(), torch.randn(3, 4))
    fast(torch.randn(3, 4))
    fused_step(net())
    fast(torch.randn(3, 4))
    assert built.binds == 1


@torch.no_grad()
def test_refresh_is_for_writes_that_leave_no_trace() -> None:
    model = net()
    x = torch.randn(3, 4)
    fast, _ = compiled(model, x)
    fast(x)
    model[0].weight.data.mul_(3)
    model[3].bias.numpy()[...] = 7
    fast.refresh()
    torch.testing.assert_close(fast(x), model(x))


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0
        self.table = torch.randn(4)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor + self.table


@torch.no_grad()
def test_plain_attributes() -> None:
    model = Plain()
    x = torch.randn(4)
    fast, built = compiled(model, x)
    for _ in range(3):
        torch.testing.assert_close(fast(x), model(x))
    assert len(built.programs) == 1
    model.table.add_(1)
    torch.testing.assert_close(fast(x), model(x))
    model.factor = 5.0
    fast.refresh(recompile=True)
    torch.testing.assert_close(fast(x), model(x))


@torch.no_grad()
def test_other_dtypes_and_devices() -> None:
    model = net()
    x = torch.randn(3, 4)
    fast, built = compiled(model, x)
    fast.double()
    assert model[0].weight.dtype == torch.float64
    torch.testing.assert_close(fast(x.double()), model(x.double()))
    fast.float()
    torch.testing.assert_close(fast(x), model(x))
    assert len(built.programs) == 2
    with pytest.raises(RuntimeError):
        fast(x.double())
    fast.to("meta")
    assert fast(x.to("meta")).is_meta


@torch.no_grad()
def test_training_mode_of_any_submodule() -> None:
    torch.manual_seed(0)
    model = net()
    x = torch.randn(3, 4)
    fast, _ = compiled(model, x)
    fast(x)
    model[1].train()
    before = model[1].running_mean.clone()
    got, mean = fast(x), model[1].running_mean.clone()
    model[1].running_mean.copy_(before)
    torch.testing.assert_close(got, model(x))
    torch.testing.assert_close(mean, model[1].running_mean)
    assert not torch.equal(mean, before)
    model[1].eval()
    torch.testing.assert_close(fast(x), model(x))


@torch.no_grad()
def test_frozen_under_inference_mode_runs_eager() -> None:
    with torch.inference_mode():
        model = net()
    fast, built = compiled(net(), torch.randn(3, 4))
    fast.original[0] = model[0]
    with torch.inference_mode():
        fast(torch.randn(3, 4))
    assert built.calls == 0 and "version counter" in fast.journal.of("fallback")[0].message


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        x.mul_(2)
        return x + self.count * self.weight


@torch.no_grad()
def test_mutations_are_written_back_and_bind_nothing_anew() -> None:
    model = Counter()
    fast, built = compiled(model, torch.ones(2))
    given = torch.ones(4)[::2]
    for round in range(1, 5):
        got = fast(given)
        assert torch.equal(model.count, torch.full((2,), float(round)))
        torch.testing.assert_close(got, given + round)
        torch.testing.assert_close(given, torch.full((2,), 2.0**round))
    assert built.binds == 1 and built.calls == 4
    model.weight.mul_(10)
    torch.testing.assert_close(fast(given), given + 50)
    assert built.binds == 2


@torch.no_grad()
def test_written_tensors_that_share_memory_run_eager() -> None:
    class Add(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            x.add_(1)
            return x + y

    fast, built = compiled(Add(), torch.zeros(2), torch.zeros(2))
    x = torch.zeros(2)
    assert torch.equal(fast(x, x), torch.full((2,), 2.0)) and built.calls == 0
    assert "shares memory" in fast.journal.of("fallback")[0].message


@torch.no_grad()
def test_every_thread_count_has_its_program() -> None:
    fast, built = compiled(net(), torch.randn(3, 4))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 1, 2):
            torch.set_num_threads(threads)
            fast(torch.randn(3, 4))
    finally:
        torch.set_num_threads(before)
    assert sorted(program.threads for program in built.programs) == [1, 2]


class Handmade(nn.Module):
    """Submodules reached by other ways than their registered names."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.order = [self.parts[1], self.parts[0]]
        self.way = self.backwards
        self.seen = 0

    def backwards(self, x: Tensor) -> Tensor:
        for part in self.order:
            x = part(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        return self.way(x)


@torch.no_grad()
def test_tracing_leaves_the_module_alone() -> None:
    model = Handmade()
    x = torch.randn(2, 4)
    fast, built = compiled(model, x)
    assert model.seen == 0 and all(type(p) is nn.Parameter for p in model.parameters())
    assert len(built.programs[0].graph.params) == 4
    model.parts[0].weight.mul_(2)
    torch.testing.assert_close(fast(x), model(x))


@torch.no_grad()
def test_threads_may_call_at_once_while_parameters_change() -> None:
    model = nn.Linear(4, 1, bias=False)
    model.weight.fill_(0)
    fast, _ = compiled(model, torch.ones(1, 4))

    def call(number: int) -> bool:
        with torch.no_grad():
            if number % 10 == 0:
                model.weight.add_(1)
            rows = number % 3 + 1
            value = fast(torch.ones(rows, 4))
            return value.shape == (rows, 1) and bool((value % 4 == 0).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))
    torch.testing.assert_close(fast(torch.ones(1, 4)), model(torch.ones(1, 4)))
