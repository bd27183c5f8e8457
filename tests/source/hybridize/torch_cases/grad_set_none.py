# breaks: none
# says: to_graph safe

import torch


def f(w):
    w.grad = None
    return w * 2


def args():
    return (torch.randn(4, requires_grad=True),)


if __name__ == "__main__":
    f(*args())
