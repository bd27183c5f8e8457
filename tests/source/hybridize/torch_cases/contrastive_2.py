# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(z1, z2, t=0.1):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / t
    n = z1.size(0)
    sim.fill_diagonal_(float("-inf"))
    labels = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, labels)


def args():
    return torch.randn(2, 4), torch.randn(2, 4)
