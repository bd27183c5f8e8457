"""A second of what microphones hear: voices between silence, clicks and noise, at several levels."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor


def voice(level: float, noise: float) -> Tensor:
    """Decaying sines in syllables, then silence, two clicks, and noise towards the end."""
    time = torch.arange(16000, dtype=torch.float64) / 16000
    made = torch.zeros_like(time)
    for frequency, size, decay in ((120, 0.5, 3), (240, 0.3, 5), (700, 0.2, 8), (1900, 0.1, 12), (3100, 0.05, 20)):
        made += size * torch.sin(2 * pi * frequency * time) * torch.exp(-decay * ((time * 4) % 1))
    made[5000:8000] = 0
    made[8007], made[8900] = 0.9, -0.7
    generator = torch.Generator().manual_seed(0)
    made += noise * torch.randn(16000, generator=generator, dtype=torch.float64) * (time > 0.6)
    return (level * made).float()[None]


SOUNDS = {"voice": voice(1.0, 1e-4), "quiet": voice(1e-3, 1e-2), "loud": voice(32768.0, 1e-5)}
