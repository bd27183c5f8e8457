# breaks: Attempted to use `torch.nn.Parameter()` constructor with Dynamo
# says: keep unsafe STR163

import torch
import torch.nn as nn


def f(x):
    l = nn.Linear(4, 2)
    return l(x)


def args():
    return (torch.randn(3, 4),)
