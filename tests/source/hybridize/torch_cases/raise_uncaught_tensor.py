# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if x.max() > 1e9:
        raise ValueError(f"too large: {x.max()}")
    return x + 1


def args():
    return (torch.randn(2),)
