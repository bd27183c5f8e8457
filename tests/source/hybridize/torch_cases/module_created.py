# breaks: Attempted to use `torch.nn.Parameter()` constructor with Dynamo
# says: keep unsafe STR163

import torch
import torch.nn as nn


def f(x):
    m = nn.Linear(2, 2)
    return m(x)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
