# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F

WEIGHTS = [0.1, 0.2, 0.7]


def f(logits, target):
    w = torch.tensor(WEIGHTS, device=logits.device)
    return F.cross_entropy(logits, target, weight=w)


def args():
    return torch.randn(2, 3), torch.tensor([0, 2])
