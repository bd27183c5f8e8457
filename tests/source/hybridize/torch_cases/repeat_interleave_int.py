# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.repeat_interleave(x, 2)


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
