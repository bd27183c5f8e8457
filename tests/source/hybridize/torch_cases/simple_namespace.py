# breaks: none
# says: to_graph safe-if

import types

import torch

cfg = types.SimpleNamespace(dim=4, eps=1e-6)


def f(x):
    return x / (x.norm(dim=-1, keepdim=True) + cfg.eps) * cfg.dim


def args():
    return (torch.randn(2, 4),)
