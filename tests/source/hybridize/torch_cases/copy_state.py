# breaks: Attempted to copy.deepcopy a tensor
# says: keep unsafe STR159

import copy

import torch
import torch.nn as nn

model = nn.Linear(2, 2)


def f(x):
    m = copy.deepcopy(model)
    return m(x)


def args():
    return (torch.randn(1, 2),)


if __name__ == "__main__":
    f(*args())
