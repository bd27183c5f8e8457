# breaks: setattr() on Tensor.requires_grad
# says: keep unsafe STR177

import torch


def f(x):
    y = x.detach().clone()
    y.requires_grad = True
    return y * 2


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
