# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.func.grad(lambda t: (t * t).sum())(x)


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
