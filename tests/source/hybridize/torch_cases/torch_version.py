# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if torch.__version__ >= "2.0":
        return torch.nn.functional.silu(x)
    return x * torch.sigmoid(x)


def args():
    return (torch.randn(3),)
