# breaks: none
# says: to_graph safe-if

import torch


def f(x, dtype="float16"):
    return x.to(getattr(torch, dtype)).float()


def args():
    return (torch.randn(2),)
