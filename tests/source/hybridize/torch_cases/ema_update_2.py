# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

a, b = nn.Linear(3, 3), nn.Linear(3, 3)


@torch.no_grad()
def f(decay):
    for p, q in zip(a.parameters(), b.parameters()):
        p.mul_(decay).add_(q, alpha=1 - decay)
    return a.weight.sum()


def args():
    return (0.9,)
