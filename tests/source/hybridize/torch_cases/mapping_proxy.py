# breaks: none
# says: to_graph safe-if

import types

import torch

T = types.MappingProxyType({"a": 1.0})


def f(x):
    return x * T["a"]


def args():
    return (torch.randn(2),)
