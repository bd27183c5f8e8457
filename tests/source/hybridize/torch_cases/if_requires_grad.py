# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.requires_grad:
        return x.detach()
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
