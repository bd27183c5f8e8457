# breaks: requires_grad_() intermediate leaked as output
# says: keep unsafe STR177

import torch


def f(x):
    y = x.detach().clone().requires_grad_(True)
    return (y * 2).sum()


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
