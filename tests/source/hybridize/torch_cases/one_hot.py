# breaks: Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape
# says: keep unsafe STR157

import torch
import torch.nn.functional as F


def f(x):
    return F.one_hot(x)


def args():
    return (torch.tensor([0, 1, 1]),)


if __name__ == "__main__":
    f(*args())
