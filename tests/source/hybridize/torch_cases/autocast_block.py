# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

lin = nn.Linear(4, 4)


def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = lin(x)
    return y.float()


def args():
    return (torch.randn(2, 4),)
