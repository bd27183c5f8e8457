# breaks: none
# says: to_graph safe

import torch
from torch import nn

m = nn.Linear(3, 3)
target = nn.Linear(3, 3)


@torch.no_grad()
def f(tau):
    for p, q in zip(m.parameters(), target.parameters()):
        q.lerp_(p, tau)
    return target.weight.sum()


def args():
    return (0.1,)
