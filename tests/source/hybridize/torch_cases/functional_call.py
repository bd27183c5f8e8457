# breaks: none
# says: to_graph safe

import torch
from torch import nn

m = nn.Linear(2, 2)


def f(x):
    params = {n: p * 0.5 for n, p in m.named_parameters()}
    return torch.func.functional_call(m, params, (x,))


def args():
    return (torch.randn(1, 2),)
