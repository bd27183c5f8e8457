"""Programs planned for other machines compute the same: vectors of SSE, AVX2 and AVX-512, and their registers and caches.

The plans of CPUs that are not at hand run in instructions of this one. `make test-targets` tries every description.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from codegen.machines import runnable
from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.pipeline import EMULATED, assembly, run_stages
from strop.loops.calls import Call
from strop.loops.index import Var, index_of
from strop.loops.ir import Apply, Buffer, Load, Loop, Nest, Store
from strop.schedule import default
from strop.schedule.program import Plan
from strop.session import Session
from strop.target.description import TARGETS, Target

FEW = ("x86-64", "x86-64-v3", "znver4")


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(40), nn.Linear(40, 120), nn.Linear(40, 40)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (2, 20)).transpose(1, 2) for part in self.into(self.norm(x)).chunk(3, -1))
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(9, 37, bidirectional=True), nn.GRU(74, 24)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x)[0])[0]


class Reductions(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.sum(1), x.amax((0, 2)), x.var(2), x.mean(), x.argmax(-1), x.cumsum(2), x.softmax(1), x.logsumexp(2)


class Functions(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.exp(), x.tanh(), F.gelu(x), x.erf(), x.sin(), x.abs().log1p(), x.sigmoid(), x.round(), x > 0, x.int()


class Moves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 19)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.table(x)
        return torch.cat([rows.transpose(1, 2).flip(2), F.pad(rows, (1, -1)).transpose(1, 2)], 1).permute(2, 0, 1)


def mobile() -> nn.Module:
    """Nests in strips, and channels that do not fill vectors."""
    deep = nn.Conv2d(44, 44, 3, 2, 1, groups=44)
    return nn.Sequential(
        nn.Conv2d(3, 20, 3, 1, 1), nn.Conv2d(20, 44, 1), nn.ReLU6(), deep, nn.SiLU(), nn.Conv2d(44, 20, 1)
    )


def windows() -> nn.Module:
    first, second = nn.Conv2d(8, 24, (3, 5), (2, 1), (1, 2), groups=2), nn.Conv2d(24, 16, 3, dilation=2)
    up = nn.ConvTranspose2d(16, 10, 4, 2, 1)
    return nn.Sequential(
        first, nn.MaxPool2d(3, 1, 1), second, nn.BatchNorm2d(16), up, nn.AvgPool2d(2), nn.GroupNorm(2, 10)
    )


def winograd() -> nn.Module:
    return nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 48, 3, padding=1))


def image(channels: int, height: int, width: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(1, channels, height, width)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "products": (lambda: nn.Sequential(nn.Linear(75, 130), nn.GELU(), nn.Linear(130, 33)), lambda: torch.randn(21, 75)),
    "a row": (lambda: nn.Sequential(nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 10)), lambda: torch.randn(1, 200)),
    "windows": (windows, image(8, 19, 23)),
    "mobile": (mobile, image(3, 30, 34)),
    "winograd": (winograd, image(32, 20, 20)),
    "attention": (Attention, lambda: torch.randn(1, 27, 40)),
    "recurrent": (Recurrent, lambda: torch.randn(5, 1, 9)),
    "reductions": (Reductions, lambda: torch.randn(6, 19, 70)),
    "functions": (Functions, lambda: torch.linspace(-9, 9, 203)),
    "moves": (Moves, lambda: torch.arange(14).reshape(2, 7) % 11),
}


def assert_equals_eager(network: str, target: str, threads: int) -> None:
    torch.manual_seed(0)
    make, example = NETWORKS[network]
    model, x = make().eval(), example()
    with torch.no_grad():
        session = Session(
            model, (x,), options=Options(cache=False, check=True, target=runnable(target)), threads=threads
        )
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("target", FEW)
def test_a_plan_for_another_machine_computes_the_same(target: str, network: str) -> None:
    assert_equals_eager(network, target, 1)


@pytest.mark.parametrize("network", ["functions", "products", "attention"])
def test_a_cpu_without_fused_products_calls_no_function_for_them(network: str) -> None:
    make, example = NETWORKS[network]
    target = Target.find("x86-64")
    session = Session(make().eval(), (example(),), options=Options(cache=False, target=runnable("x86-64")), threads=1)
    for call in session.plan.steps:
        assert isinstance(call, Call)
        assert "fma" not in assembly(call.nest, target)


def test_bytes_are_multiplied_by_the_instructions_that_a_machine_has() -> None:
    x, w = Buffer("x", "i32", (4, 8)), Buffer("w", "i32", (8, 16))
    out = Buffer("out", "i32", (4, 16))
    i, k, j = Var("i", 4), Var("k", 8), Var("j", 16)
    product = Apply("dot4", (Load(x, (index_of(i), index_of(k))), Load(w, (index_of(k), index_of(j)))), "i32")
    loops = (Loop(i), Loop(k, "reduce"), Loop(j, mode="vector"))
    nest = Nest(loops, (Store(out, (index_of(i), index_of(j)), product, "sum"),), name="bytes")
    for name, instruction in (
        ("znver4", "vpdpbusd"),
        ("znver3", "vpmaddwd"),
        ("neoverse-n1", "sdot"),
        ("neoverse-v1", "usdot"),
    ):
        assert f"\t{instruction}\t" in assembly(nest, Target.find(name))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_plan_computes_the_same(target: str, network: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default, "PARALLEL_EFFORT", 0)
    assert_equals_eager(network, target, threads)


@pytest.mark.parametrize("network", ["products", "windows", "mobile", "attention", "recurrent"])
def test_an_emulated_machine_has_the_plan_of_the_real_one(network: str) -> None:
    make, example = NETWORKS[network]
    options = Options(cache=False, numerics="fast", target=f"znver4{EMULATED}")
    session = Session(make().eval(), (example(),), options=options, threads=1)
    real = run_stages(session.graph, Target.find("znver4"), options, Journal(), 1)
    assert steps(session.plan) == steps(real.plan)


def steps(plan: Plan) -> list[str]:
    return [str(call.nest) for call in (*plan.prepare, *plan.steps) if isinstance(call, Call)]
