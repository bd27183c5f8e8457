# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(x, k: int = 2, iters: int = 3):
    c = x[:k]
    for _ in range(iters):
        assign = torch.cdist(x, c).argmin(dim=1)
        w = F.one_hot(assign, k).to(x.dtype)
        c = (w.t() @ x) / w.sum(0).clamp(min=1).unsqueeze(1)
    return c


def args():
    return (torch.randn(6, 2),)
