# breaks: none
# says: to_graph safe

import torch

betas = torch.linspace(1e-4, 0.02, 10)
alphas = torch.cumprod(1 - betas, 0)


def f(x0, t, noise):
    a = alphas[t].view(-1, 1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


def args():
    return torch.randn(2, 3), torch.tensor([1, 5]), torch.randn(2, 3)


if __name__ == "__main__":
    f(*args())
