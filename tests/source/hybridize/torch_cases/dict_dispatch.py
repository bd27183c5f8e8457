# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F

ACTS = {"relu": F.relu, "gelu": F.gelu, "silu": lambda x: x * x.sigmoid()}


def f(x, name="silu"):
    return ACTS[name](x)


def args():
    return (torch.randn(3, 2),)
