# breaks: none
# says: to_graph safe

import torch


def f(g, limit: float = 1.0):
    n = g.norm()
    return g * torch.clamp(limit / (n + 1e-6), max=1.0)


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
