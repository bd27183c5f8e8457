"""What one row, sample, head or channel holds changes no bit of another one's result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from numerics.judge import Judge, Of, assert_special_values_agree


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(12, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.layer(x)[0]
        return made


#: how a part is changed: to huge values, to NaN, to an infinity, to a single NaN, to zeros
CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "huge": lambda part: part * 1e30,
    "nan": lambda part: torch.full_like(part, torch.nan),
    "inf": lambda part: torch.full_like(part, torch.inf),
    "one nan": lambda part: torch.where(torch.arange(part.numel()).reshape(part.shape) == 3, torch.nan, part),
    "zero": torch.zeros_like,
}
#: a model, the shape of its input, and the axis of samples, which is the first of the result too
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(96, 40), (9, 96)),
    "linear, big": (lambda: nn.Linear(768, 768), (128, 768)),
    "linear, sequences": (lambda: nn.Linear(64, 48), (3, 5, 64)),
    "matmul": (lambda: Of(lambda x: x @ x.mT), (4, 6, 33)),
    "convolution": (lambda: nn.Conv2d(16, 16, 3, padding=1), (3, 16, 8, 8)),
    "1×1": (lambda: nn.Conv2d(32, 24, 1), (4, 32, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose2d(16, 8, 4, 2, 1), (3, 16, 5, 5)),
    "GRU": (Recurrent, (3, 5, 12)),
    "attention": (lambda: Of(lambda x: F.scaled_dot_product_attention(x, x, x)), (3, 2, 9, 16)),
    "layer norm": (lambda: nn.LayerNorm(50), (9, 50)),
    "group norm": (lambda: nn.GroupNorm(2, 8), (3, 8, 6, 6)),
    "softmax": (lambda: nn.Softmax(-1), (7, 300)),
    "sum": (lambda: Of(lambda x: x.sum(-1)), (9, 1000)),
    "pool": (lambda: nn.AvgPool2d(2), (3, 4, 8, 8)),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", MODELS)
def test_a_sample_changes_no_other(judge: Judge, name: str, change: str) -> None:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    x = torch.randn(shape)
    model, fast = judge.compiled(name, make, (x,))
    other = x.clone()
    other[1] = CHANGES[change](x[1])
    # PyTorch's fused attention answers zeros to a query whose scores are all NaN where it runs on AVX-512, and NaN where
    # it runs on AVX2: its plain formula is the same everywhere
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        before, after, eager = fast(x).clone(), fast(other), model(other)
    kept = [i for i in range(shape[0]) if i != 1]
    assert torch.equal(before[kept], after[kept])
    if change != "huge":  # whether sums of huge values overflow on their way depends on their order
        assert_special_values_agree(after, eager)
    judge.cases.add("confinement")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("groups", [4, 16])
def test_a_channel_changes_no_other_group(judge: Judge, groups: int, change: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 16, 8, 8)
    model, fast = judge.compiled(f"groups {groups}", lambda: nn.Conv2d(16, 16, 3, padding=1, groups=groups), (x,))
    other = x.clone()
    other[:, 0] = CHANGES[change](x[:, 0])
    with torch.no_grad():
        before, after, eager = fast(x).clone(), fast(other), model(other)
    assert torch.equal(before[:, 16 // groups :], after[:, 16 // groups :])
    if change != "huge":
        assert_special_values_agree(after, eager)
    judge.cases.add("confinement")


@pytest.mark.parametrize("name", ["linear", "1×1", "convolution", "sum", "pool"])
def test_denormal_results_are_kept(judge: Judge, name: str) -> None:
    """Powers of two below the normal ones, whose sums are exact: the same bits as eager's."""
    make, shape = MODELS[name]
    x = torch.full(shape, 2.0**-140)
    model, fast = judge.compiled(f"{name}, denormal", make, (x,))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0 if parameter.dim() > 1 else 0.0)
        eager, got = model(x), fast(x)
    assert (eager != 0).all()
    assert torch.equal(got, eager)
    judge.cases.add("denormals")


@pytest.mark.parametrize("change", CHANGES)
def test_a_sample_beside_winograd_convolutions_keeps_its_accuracy(judge: Judge, change: str) -> None:
    """Bits may differ, as a call that meets what is not finite is computed by direct sums; digits do not."""
    torch.manual_seed(0)
    x = torch.randn(2, 64, 14, 14)
    make = lambda: nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.GroupNorm(4, 64))  # noqa: E731
    model, fast = judge.compiled("winograd", make, (x,))
    other = x.clone()
    other[1] = CHANGES[change](x[1])
    with torch.no_grad():
        before, after, eager = fast(x).clone(), fast(other), model(other)
    assert torch.allclose(before[0], after[0], rtol=0, atol=1e-5)
    if change != "huge":
        assert_special_values_agree(after, eager)
    judge.cases.add("confinement")


@pytest.mark.parametrize("place", [(0, 5, 6, 7), (1, 0, 0, 0), (1, 63, 13, 13)])
def test_a_pixel_reaches_what_its_window_covers(judge: Judge, place: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 64, 14, 14)
    model, fast = judge.compiled("pixel", lambda: nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.Sigmoid()), (x,))
    x[place] = torch.nan
    with torch.no_grad():
        assert_special_values_agree(fast(x), model(x))
    judge.cases.add("confinement")
