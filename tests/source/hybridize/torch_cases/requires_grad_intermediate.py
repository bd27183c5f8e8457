# breaks: requires_grad_() intermediate leaked as output
# says: keep unsafe STR177

import torch


def f(x):
    y = x * 2
    y.requires_grad_()
    return y


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
