# breaks: none
# says: to_graph safe-if

import torch


def f(cdf, u):
    i = torch.searchsorted(cdf, u, right=True)
    return cdf.gather(-1, i.clamp(max=cdf.size(-1) - 1))


def args():
    return torch.rand(2, 4).cumsum(-1), torch.rand(2, 3)
