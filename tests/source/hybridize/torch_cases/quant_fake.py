# breaks: none
# says: to_graph safe

import torch


def f(x: torch.Tensor, bits: int = 8):
    qmax = 2 ** (bits - 1) - 1
    scale = x.abs().max() / qmax
    q = torch.clamp((x / scale).round(), -qmax - 1, qmax)
    return x + (q * scale - x).detach()


def args():
    return (torch.randn(4),)
