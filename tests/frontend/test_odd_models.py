"""Small models of odd makes, through both doors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import strop
from frontend.beside import DOORS, Calls, check, eager

both_doors = pytest.mark.parametrize("door", DOORS)
randn = torch.randn


class Pair(NamedTuple):
    first: Tensor
    second: Any


class Counting(nn.Module):
    """Writes to its buffers and reads what it wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.linear(x) + self.mean * self.calls


def _tree(x: Tensor, *, y: Tensor, flag: bool) -> dict[str, Any]:
    return {"twice": x * 2, "none": None, "deep": (x.sum(), [x.view(-1), 3, "text", flag]), "pair": Pair(x + 1, y)}


def _indices(x: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    return (
        x.scatter(1, i, 2.0), x.scatter_add(1, i, x), x.index_add(0, i[0], x), x.index_copy(0, torch.tensor([1]), x[:1]),
        x.take_along_dim(i, 1), torch.bucketize(x, torch.tensor([-1.0, 0, 1])), F.one_hot(i, 5),
    )  # fmt: skip


MODELS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "odd convolutions": lambda: (
        nn.Sequential(
            nn.Conv2d(3, 7, 5, stride=2, padding=1, dilation=2), nn.BatchNorm2d(7), nn.PReLU(7),
            nn.Conv2d(7, 14, 3, groups=7, padding="same", padding_mode="reflect"), nn.LeakyReLU(0.1),
            nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten(), nn.Linear(84, 4),
        ),
        (randn(2, 3, 37, 29),),
        (randn(1, 3, 37, 29).to(memory_format=torch.channels_last),),
    ),
    "circular, transposed": lambda: (
        nn.Sequential(
            nn.Conv1d(3, 6, 4, padding=2, padding_mode="circular"), nn.GELU(),
            nn.ConvTranspose1d(6, 3, 3, stride=3, output_padding=1, dilation=2),
            nn.AvgPool1d(2, count_include_pad=False, padding=1),
        ),
        (randn(2, 3, 17),),
    ),
    "three dimensions": lambda: (
        nn.Sequential(
            nn.Conv3d(2, 4, (1, 3, 2), stride=(1, 2, 1), padding=(0, 1, 1)), nn.InstanceNorm3d(4, affine=True),
            nn.Softplus(), nn.ConvTranspose3d(4, 2, 3, groups=2),
        ),
        (randn(1, 2, 5, 7, 6),),
    ),
    "an attention with biases": lambda: (
        nn.MultiheadAttention(12, 3, batch_first=True, add_bias_kv=True, add_zero_attn=True, kdim=5, vdim=7),
        (randn(2, 4, 12), randn(2, 6, 5), randn(2, 6, 7)),
    ),
    "spectral norm": lambda: (nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)), (randn(2, 5),)),
    "buffers that it writes": lambda: (Counting(), (randn(5, 4),), (randn(6, 4),)),
    "random numbers": lambda: (
        Calls(lambda x: (torch.rand_like(x), F.dropout(x, 0.5, True) + 1, torch.randint(0, 5, (4,)))),
        (randn(3, 4),),
    ),
    "writes to its arguments": lambda: (
        Calls(lambda x, y: (x.add_(1).mul_(y), x.t(), y[:, 1:].zero_().sum())), (randn(3, 4), randn(3, 4))
    ),
    "scattering": lambda: (Calls(_indices), (randn(5, 5), torch.randint(0, 5, (5, 5)))),
    "numbers in its code": lambda: (
        Calls(lambda x: x * torch.tensor([1.0, 2.0, 3.0]) + torch.tensor(list(range(5001)))[7:10]),
        (randn(2, 3),), (randn(4, 3),), (randn(5, 3),),
    ),
    "complex numbers": lambda: (
        Calls(lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.exp(1j * x[0, :9]), n=16)), (randn(2, 16),)
    ),
}  # fmt: skip


@both_doors
@pytest.mark.parametrize("name", MODELS)
def test_equals_eager(name: str, door: str) -> None:
    torch.manual_seed(0)
    model, *calls = MODELS[name]()
    assert not eager(check(door, model.eval(), *calls))


@both_doors
def test_nested_results_and_keyword_arguments(door: str) -> None:
    assert not eager(check(door, Calls(_tree), (randn(3, 4),), kwargs={"y": randn(2), "flag": False}))


@both_doors
def test_batch_norm_in_training_mode(door: str) -> None:
    check(door, nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).train(), (randn(2, 3, 8, 8),))


@both_doors
def test_past_the_limit_of_variants_it_runs_eager_and_says_so(door: str) -> None:
    calls = [(randn(n, 4),) for n in range(2, 8)]
    assert "max_variants" in eager(check(door, nn.Linear(4, 3), *calls, max_variants=3))[0]


class Watching(nn.Module):
    """Registers a hook at its first call, as some libraries do, and counts on there being one."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.seen: list[Tensor] = []
        self.watching = False

    def forward(self, x: Tensor) -> Tensor:
        if not self.watching:
            self.watching = True
            self.linear.register_forward_hook(lambda module, args, result: self.seen.append(result))
        self.seen.clear()
        self.linear(x)
        return sum(self.seen)


def test_tracing_leaves_no_hooks_behind() -> None:
    model, x = Watching().eval(), randn(2, 4)
    fast = strop.compile(model, (x,))
    assert not model.watching and not model.linear._forward_hooks
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
        torch.testing.assert_close(model(x), model.linear(x))
