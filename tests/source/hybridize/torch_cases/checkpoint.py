# breaks: none
# says: to_graph safe

import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    return x.sin().cos()


def f(x):
    return checkpoint(block, x, use_reentrant=False)


def args():
    return (torch.randn(4, requires_grad=True),)


if __name__ == "__main__":
    f(*args())
