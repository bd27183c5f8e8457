# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(logits, labels):
    return F.cross_entropy(logits, labels, ignore_index=-100)


def args():
    return (torch.randn(4, 3), torch.tensor([0, -100, 2, 1]))
