# breaks: none
# says: to_graph safe-if

import torch

betas = torch.linspace(1e-4, 0.02, 10)
alphas = torch.cumprod(1 - betas, 0)


def f(x0, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x0)
    a = alphas[t].view(-1, *([1] * (x0.dim() - 1)))
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


def args():
    return torch.randn(2, 3), torch.tensor([1, 2])
