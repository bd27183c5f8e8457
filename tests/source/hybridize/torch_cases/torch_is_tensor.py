# breaks: none
# says: to_graph safe-if

import torch


def f(x, scale=2.0):
    if not torch.is_tensor(scale):
        scale = torch.tensor(scale)
    return x * scale


def args():
    return (torch.randn(3),)
