# breaks: Attempted to use `torch.nn.Parameter()` constructor with Dynamo
# says: keep unsafe STR163

import torch
import torch.nn as nn


def f(x):
    w = nn.Parameter(torch.ones(2))
    return x * w


def args():
    return (torch.randn(2),)
