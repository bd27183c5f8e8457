# breaks: Tensor.tolist() with non-integer tensor
# says: keep unsafe STR156

import torch


def f(x):
    values = x.tolist()
    return torch.tensor(values)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
