# breaks: none
# says: to_graph safe

import torch


def f(x):
    torch._check(x.shape[0] == 2)
    torch._assert(x.dim() == 1, "dims")
    return x + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
