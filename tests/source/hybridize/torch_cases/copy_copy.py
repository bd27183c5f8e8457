# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import copy

import torch


def f(x):
    d = copy.copy({"a": 1})
    return x + d["a"]


def args():
    return (torch.rand(4),)
