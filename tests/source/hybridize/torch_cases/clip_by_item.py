# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(g, limit: float = 1.0):
    n = g.norm().item()
    if n > limit:
        g = g * (limit / n)
    return g


def args():
    return (torch.randn(3),)
