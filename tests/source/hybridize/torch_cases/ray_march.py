# breaks: none
# says: to_graph safe-if

import torch


def f(rgb, sigma, t):
    delta = t[..., 1:] - t[..., :-1]
    delta = torch.cat([delta, torch.full_like(delta[..., :1], 1e10)], -1)
    alpha = 1 - torch.exp(-sigma * delta)
    T = torch.cumprod(1 - alpha + 1e-10, -1).roll(1, -1)
    T[..., 0] = 1
    w = alpha * T
    return (w[..., None] * rgb).sum(-2)


def args():
    return torch.rand(2, 4, 3), torch.rand(2, 4), torch.rand(2, 4)
