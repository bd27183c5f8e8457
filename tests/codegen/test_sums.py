"""Long sums are about as exact as eager ones, which are made in cascades."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import strop

EXACT = 3e-7  # of the scale of what is computed

ROWS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: x.logsumexp(0),
    "softmax": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, 0),
    "layer_norm": lambda x: F.layer_norm(x, x.shape),
    "rms_norm": lambda x: F.rms_norm(x, x.shape),
    "mse": lambda x: F.mse_loss(x, x.flip(0) * 0.5),
    "l1": lambda x: F.l1_loss(x, x.flip(0) * 0.5),
}
IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "group_norm": lambda x: F.group_norm(x, 1),
    "instance_norm": lambda x: F.instance_norm(x),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "channels": lambda x: x.sum((0, 2)),
    "points": lambda x: x.mean(1),
    "squares": lambda x: (x * x).sum((1, 2)),
}
TALL: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(0),
    "var": lambda x: x.var(0),
    "softmax": lambda x: F.softmax(x, 0),
}


class Of(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def assert_exact(function: Callable[[Tensor], Tensor], x: Tensor, scale: float = 0.0, threads: int = 1) -> None:
    """At most twice eager's error, or EXACT, whichever is more; and the same again."""
    with torch.no_grad():
        right, eager = function(x.double()), function(x)
        scale = scale or float(right.abs().max())
        fast = strop.compile(Of(function).eval(), (x,), threads=threads, cache=False)
        made = fast(x)
        assert torch.equal(made, fast(x))
    errors = [float((found.double() - right).abs().max()) / scale for found in (made, eager)]
    assert errors[0] <= max(EXACT, 2 * errors[1])


def numbers(shape: tuple[int, ...], mean: float) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)) + mean


@pytest.mark.parametrize("mean", [0.0, 3.0])
@pytest.mark.parametrize("length", [100_003, 1_000_000, 4_000_037])
@pytest.mark.parametrize("name", ROWS)
def test_one_long_row(name: str, length: int, mean: float) -> None:
    scales = {"sum": length, "mean": 1.0}
    scale = scales.get(name, 0.0) * (mean or length**-0.5)  # a sum of both signs is as large as it is wide
    assert_exact(ROWS[name], numbers((length,), mean), scale)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mean", [0.0, 3.0])
@pytest.mark.parametrize("shape", [(1, 256, 4000), (2, 131, 4001)])
@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str, shape: tuple[int, ...], mean: float, threads: int) -> None:
    x = numbers(shape, mean)
    assert_exact(IMAGES[name], x, (mean or x.numel() ** -0.5) if name == "mean" else 0.0, threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(200_003, 16), (100_001, 3), (3137, 100)])
@pytest.mark.parametrize("name", TALL)
def test_columns(name: str, shape: tuple[int, ...], threads: int) -> None:
    assert_exact(TALL[name], numbers(shape, 3.0), threads=threads)


@pytest.mark.parametrize("length", [768, 1024, 4095, 4096, 4097, 8192, 32_771])
@pytest.mark.parametrize("mean", [0.0, 3.0])
def test_rows_of_a_layer_norm(length: int, mean: float) -> None:
    assert_exact(lambda x: F.layer_norm(x, x.shape[1:]), numbers((16, length), mean))


def test_a_network_of_norms_over_everything() -> None:
    torch.manual_seed(0)
    parts: list[nn.Module] = [nn.Conv1d(64, 128, 1), nn.PReLU(), nn.GroupNorm(1, 128), nn.Conv1d(128, 64, 1)]
    model = nn.Sequential(*parts, nn.GroupNorm(1, 64)).eval()
    x = torch.randn(1, 64, 2000)
    with torch.no_grad():
        made, eager = strop.compile(model, (x,), cache=False)(x).double(), model(x).double()
        right = model.double()(x.double())
    worst = float(right.abs().max())
    assert float((made - right).abs().max()) / worst <= max(1e-6, 2 * float((eager - right).abs().max()) / worst)
