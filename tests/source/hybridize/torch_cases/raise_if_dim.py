# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if x.dim() != 2:
        raise ValueError(f"expected 2D, got {x.dim()}D")
    return x.T @ x


def args():
    return (torch.randn(2, 3),)
