# breaks: none
# says: to_graph safe

import torch
from torch import nn

a, b = nn.Linear(2, 2), nn.Linear(2, 2)


def f(x):
    sa, sb = a.state_dict(), b.state_dict()
    mean = {k: (sa[k] + sb[k]) / 2 for k in sa}
    return torch.func.functional_call(a, mean, (x,))


def args():
    return (torch.randn(1, 2),)
