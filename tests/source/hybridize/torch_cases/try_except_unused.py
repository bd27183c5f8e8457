# breaks: none
# says: to_graph safe

import torch


def f(x):
    try:
        y = x + 1
    except RuntimeError:
        y = x
    return y


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
