"""Convolutions of every kind: each element within eager's error, whatever the scales of samples, channels and taps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from numerics.draws import Fill, cancelling, fills, within_range
from numerics.judge import Judge

KINDS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "1×1": (lambda: nn.Conv2d(40, 24, 1, bias=False), (2, 40, 5, 6)),
    "1×1, long": (lambda: nn.Conv2d(1024, 16, 1, bias=False), (1, 1024, 3, 3)),
    "3×3": (lambda: nn.Conv2d(16, 24, 3, padding=1, bias=False), (2, 16, 7, 9)),
    "3×3, few channels": (lambda: nn.Conv2d(3, 32, 3, stride=2, bias=False), (1, 3, 19, 19)),
    "5×5, strided, dilated": (lambda: nn.Conv2d(8, 8, 5, stride=2, dilation=2, padding=4, bias=False), (2, 8, 13, 11)),
    "3×3, long": (lambda: nn.Conv2d(128, 16, 3, padding=1, bias=False), (1, 128, 6, 6)),
    "grouped": (lambda: nn.Conv2d(24, 24, 3, padding=1, groups=4, bias=False), (2, 24, 6, 7)),
    "depthwise": (lambda: nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False), (2, 24, 8, 8)),
    "depthwise, strided": (lambda: nn.Conv2d(16, 16, 5, stride=2, padding=2, groups=16, bias=False), (1, 16, 9, 9)),
    "1-d": (lambda: nn.Conv1d(12, 16, 7, padding=3, bias=False), (2, 12, 33)),
    "1-d, a filter bank": (lambda: nn.Conv1d(1, 20, 400, stride=160, bias=False), (1, 1, 2000)),
    "1-d, depthwise": (lambda: nn.Conv1d(16, 16, 31, padding=15, groups=16, bias=False), (2, 16, 40)),
    "3-d": (lambda: nn.Conv3d(4, 8, 3, padding=1, bias=False), (1, 4, 5, 6, 5)),
    "transposed": (lambda: nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1, bias=False), (2, 16, 5, 6)),
    "transposed, dilated": (lambda: nn.ConvTranspose2d(8, 8, 3, dilation=2, bias=False), (1, 8, 5, 5)),
    "transposed, 1-d": (lambda: nn.ConvTranspose1d(24, 12, 8, stride=4, padding=2, bias=False), (2, 24, 11)),
    "transposed, grouped": (lambda: nn.ConvTranspose2d(8, 8, 3, stride=2, groups=4, bias=False), (1, 8, 4, 5)),
}  # fmt: skip
BIG: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "64 channels": (lambda: nn.Conv2d(64, 64, 3, padding=1, bias=False), (1, 64, 28, 28)),
    "512 channels": (lambda: nn.Conv2d(512, 64, 3, padding=1, bias=False), (1, 512, 7, 7)),
    "1×1, 768 channels": (lambda: nn.Conv2d(768, 192, 1, bias=False), (1, 768, 14, 14)),
}


def check(
    judge: Judge,
    name: str,
    make: Callable[[], nn.Module],
    shape: tuple[int, ...],
    x: Fill,
    w: Fill,
    cancel: bool,
    threads: int = 1,
) -> None:
    with torch.device("meta"):
        meant = make()
    weight = w.tensor(meant.weight.shape)
    across = 0 if isinstance(meant, nn.ConvTranspose1d | nn.ConvTranspose2d) else 1
    image, length = x.tensor(shape), weight.numel()
    if cancel and meant.groups == 1:
        image, weight = cancelling(image, 1, -1), cancelling(weight, across, 1)
    image = within_range(image, weight, length)
    terms = weight[0].numel() if across else weight.numel() // meant.out_channels
    equal = x.constant and w.constant
    family = "convolution, " + ("transposed" if not across else "grouped" if meant.groups > 1 else "direct")
    judge.check(family, name, make, (image,), {"weight": weight}, count=terms, threads=threads, equal=equal)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=4)
@example(x=Fill("constant"), w=Fill("constant"), cancel=False)
@given(x=fills(), w=fills(), cancel=st.booleans())
def test_convolution(judge: Judge, name: str, x: Fill, w: Fill, cancel: bool) -> None:
    check(judge, name, *KINDS[name], x, w, cancel)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", BIG)
@settings(max_examples=2)
@example(x=Fill("constant"), w=Fill("constant"), cancel=False)
@given(x=fills(), w=fills(), cancel=st.booleans())
def test_big_convolution(judge: Judge, name: str, threads: int, x: Fill, w: Fill, cancel: bool) -> None:
    check(judge, name, *BIG[name], x, w, cancel, threads)


@settings(max_examples=4)
@given(x=fills(), w=fills(), b=fills())
def test_convolution_with_bias(judge: Judge, x: Fill, w: Fill, b: Fill) -> None:
    weight = w.tensor((16, 12, 3, 3))
    image = within_range(x.tensor((2, 12, 6, 6)), weight, 108)
    parameters = {"weight": weight, "bias": b.tensor((16,)).clamp(-1e30, 1e30)}
    judge.check("convolution, direct", "bias", lambda: nn.Conv2d(12, 16, 3), (image,), parameters, count=108)
