# breaks: none
# says: to_graph safe

import torch


def f(x):
    y = x * 2
    y.register_hook(lambda g: g * 2)
    return y


def args():
    return (torch.rand(4, requires_grad=True),)


if __name__ == "__main__":
    f(*args())
