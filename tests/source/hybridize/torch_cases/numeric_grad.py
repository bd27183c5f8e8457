# breaks: none
# says: to_graph safe

import torch


def f(fn_in, x, eps: float = 1e-3):
    return (fn_in(x + eps) - fn_in(x - eps)) / (2 * eps)


def args():
    return torch.sin, torch.randn(3)


if __name__ == "__main__":
    f(*args())
