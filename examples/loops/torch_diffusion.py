"""Samples from a small denoising diffusion model."""

import math

import torch
from torch import nn

STEPS = 50


class Denoiser(nn.Module):
    def __init__(self, width=64, hidden=128, blocks=3):
        super().__init__()
        self.time = nn.Linear(32, hidden)
        self.inp = nn.Linear(width, hidden)
        self.blocks = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(blocks)])
        self.norms = nn.ModuleList([nn.LayerNorm(hidden) for _ in range(blocks)])
        self.out = nn.Linear(hidden, width)

    def forward(self, x, t):
        freqs = torch.exp(-math.log(10000.0) * torch.arange(16) / 16)
        angles = t[:, None] * freqs[None, :]
        emb = torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)
        h = self.inp(x) + self.time(emb)
        for block, norm in zip(self.blocks, self.norms):
            y = norm(h)
            y = y * torch.sigmoid(y)
            h = h + block(y)
        return self.out(h)


def schedule():
    beta = torch.linspace(1e-4, 0.02, STEPS)
    alpha = 1.0 - beta
    return beta, alpha, torch.cumprod(alpha, dim=0)


def denoise_step(model, x, t, beta, alpha, alpha_bar, noise):
    eps = model(x, t)
    mean = (x - beta / torch.sqrt(1.0 - alpha_bar) * eps) / torch.sqrt(alpha)
    return torch.clamp(mean + torch.sqrt(beta) * noise, -5.0, 5.0)


@torch.no_grad()
def sample(model, count=16):
    beta, alpha, alpha_bar = schedule()
    x = torch.randn(count, 64)
    for i in reversed(range(STEPS)):
        t = torch.full((count,), float(i))
        noise = torch.randn_like(x)
        x = denoise_step(model, x, t, beta[i], alpha[i], alpha_bar[i], noise)
    return x


torch.manual_seed(0)
model = Denoiser().eval()


def main():
    return sample(model)


if __name__ == "__main__":
    print(main().mean())
