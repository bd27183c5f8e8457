# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.dim() == 1:
        x = x.unsqueeze(0)
    return x.sum(1)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
