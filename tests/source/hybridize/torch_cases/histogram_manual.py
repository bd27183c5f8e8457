# breaks: none
# says: to_graph safe

import torch


def f(x, bins: int = 4):
    lo, hi = x.min(), x.max()
    idx = ((x - lo) / (hi - lo + 1e-6) * bins).long().clamp(0, bins - 1)
    return torch.zeros(bins).scatter_add_(0, idx, torch.ones_like(x))


def args():
    return (torch.rand(10),)


if __name__ == "__main__":
    f(*args())
