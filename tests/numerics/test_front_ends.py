"""Front ends of speech and sound models, written in torch: spectra whose logarithm makes every digit count."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from numerics.judge import FACTOR, Judge, in_double
from numerics.sounds import SOUNDS

RATE = 16000


def mel(bins: int, filters: int) -> Tensor:
    """Triangles, evenly spaced in mel."""

    def hertz(m: Tensor) -> Tensor:
        return 700 * (10 ** (m / 2595) - 1)

    edges = hertz(torch.linspace(0, 2595 * torch.log10(torch.tensor(1 + RATE / 2 / 700)).item(), filters + 2))
    places = torch.linspace(0, RATE / 2, bins)[:, None]
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    return torch.minimum((places - left) / (centre - left), (right - places) / (right - centre)).clamp(min=0)


def fourier(samples: int, length: int) -> Tensor:
    angle = torch.arange(samples, dtype=torch.float64)[:, None] * torch.arange(length // 2 + 1) * (2 * pi / length)
    return torch.cat([angle.cos(), -angle.sin()], 1).float()


class Stft(nn.Module):
    """torch.stft, power, mel filters, log."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("filters", mel(257, 80))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(x, 512, 160, 400, self.window, return_complex=True)
        power = spectrum.real.square() + spectrum.imag.square()
        return (power.mT @ self.filters + 1e-10).log()


class Fbank(nn.Module):
    """As Kaldi does: frames, mean removed, pre-emphasis, window, power by a matrix product, mel, log."""

    def __init__(self, cepstra: int = 0) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(400, periodic=False).pow(0.85))
        self.register_buffer("basis", fourier(400, 512))
        self.register_buffer("filters", mel(257, 80))
        steps = torch.arange(80) + 0.5
        self.register_buffer(
            "cosines", torch.cos(pi / 80 * steps[:, None] * torch.arange(cepstra)) if cepstra else None
        )

    def forward(self, x: Tensor) -> Tensor:
        frames = x.unfold(-1, 400, 160)
        frames = frames - frames.mean(-1, keepdim=True)
        frames = frames - 0.97 * F.pad(frames, (1, 0), mode="replicate")[..., :-1]
        real, imaginary = ((frames * self.window) @ self.basis).chunk(2, -1)
        bank = (real.square() + imaginary.square()) @ self.filters
        logs = bank.clamp(min=torch.finfo(torch.float32).eps).log()
        return logs if self.cosines is None else logs @ self.cosines


class ConstantQ(nn.Module):
    """Filters whose length falls with their frequency, as one strided convolution; magnitudes in decibels."""

    def __init__(self) -> None:
        super().__init__()
        kernels = torch.zeros(2 * 48, 1, 1024)
        for i in range(48):
            frequency = 110 * 2 ** (i / 12)
            length = min(1024, int(17 * RATE / frequency))
            time = torch.arange(length) - length / 2
            shape = torch.hann_window(length) / length
            start = (1024 - length) // 2
            kernels[i, 0, start : start + length] = shape * torch.cos(2 * pi * frequency / RATE * time)
            kernels[48 + i, 0, start : start + length] = shape * torch.sin(2 * pi * frequency / RATE * time)
        self.register_buffer("kernels", kernels)

    def forward(self, x: Tensor) -> Tensor:
        real, imaginary = F.conv1d(x[:, None], self.kernels, stride=256).chunk(2, 1)
        return 10 * (real.square() + imaginary.square() + 1e-12).log10()


class Leaf(nn.Module):
    """A learned front end: Gabor filters, energy, Gaussian pooling, energies normalised per channel (PCEN)."""

    def __init__(self) -> None:
        super().__init__()
        time = torch.arange(401) - 200.0
        centre, width = torch.linspace(0.02, 3.0, 40)[:, None], torch.linspace(80, 8, 40)[:, None]
        shape = torch.exp(-0.5 * (time / width) ** 2) / width
        self.gabor = nn.Parameter(
            torch.cat([shape * torch.cos(centre * time), shape * torch.sin(centre * time)])[:, None]
        )
        self.pool = nn.Parameter((torch.exp(-0.5 * (time / 80) ** 2) / 200).repeat(40, 1, 1))
        self.alpha, self.delta, self.root = (nn.Parameter(torch.full((40, 1), v)) for v in (0.96, 2.0, 0.5))

    def forward(self, x: Tensor) -> Tensor:
        real, imaginary = F.conv1d(x[:, None], self.gabor, padding=200).chunk(2, 1)
        energy = F.conv1d(real.square() + imaginary.square(), self.pool, stride=160, padding=200, groups=40)
        energy = energy.clamp(min=1e-5)
        smooth, held = [], energy[..., 0]
        for step in energy.unbind(-1)[:20]:
            held = 0.04 * step + 0.96 * held
            smooth.append(held)
        floor = (torch.stack(smooth, -1) + 1e-6) ** self.alpha
        return (energy[..., :20] / floor + self.delta) ** self.root - self.delta**self.root


MODELS: dict[str, Callable[[], nn.Module]] = {
    "stft": Stft, "fbank": Fbank, "mfcc": lambda: Fbank(13), "constant q": ConstantQ, "leaf": Leaf,
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_front_end(default_judge: Judge, name: str) -> None:
    """Each frame's worst error within eager's: a quiet frame does not hide behind a loud one."""
    model, fast = default_judge.compiled(name, MODELS[name], (next(iter(SOUNDS.values())),))
    for sound, wave in SOUNDS.items():
        with torch.no_grad():
            exact = in_double(model)(wave.double())
            errors = [(found.double() - exact).abs() for found in (model(wave), fast(wave))]
        worst = [float(error.max()) for error in errors]
        typical = [float(error.square().mean().sqrt()) for error in errors]
        scale = float(exact.abs().max())
        assert worst[1] <= max(FACTOR * worst[0], 1e-6 * scale), (sound, worst)
        assert typical[1] <= max(FACTOR * typical[0], 1e-7 * scale), (sound, typical)
        default_judge.cases.add("front ends")
