# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(logits, tau=1.0, hard=True):
    y = F.gumbel_softmax(logits, tau=tau, hard=False)
    if hard:
        idx = y.argmax(-1, keepdim=True)
        h = torch.zeros_like(logits).scatter_(-1, idx, 1.0)
        return h - y.detach() + y
    return y


def args():
    return (torch.randn(2, 3),)
