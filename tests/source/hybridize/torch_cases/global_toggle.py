# breaks: none
# says: to_graph safe

import torch

USE_FAST = True


def slow(x):
    return torch.tensor([v.item() for v in x])


def f(x):
    if USE_FAST:
        return x * 2
    return slow(x)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
