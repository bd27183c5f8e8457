# breaks: Attempted to copy.deepcopy a tensor
# says: keep unsafe STR159

import copy

import torch
import torch.nn as nn

m = nn.Linear(3, 3)


def f(x):
    m2 = copy.deepcopy(m)
    return m2(x)


def args():
    return (torch.randn(2, 3),)
