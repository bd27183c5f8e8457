# breaks: Unsupported Tensor.backward() call
# says: keep unsafe STR161

import torch


def f(x):
    y = (x * x).sum()
    y.backward()
    return x.grad


def args():
    return (torch.rand(4, requires_grad=True),)


if __name__ == "__main__":
    f(*args())
