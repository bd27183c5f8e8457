# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch
import torch.nn.functional as F


def f(logits, labels):
    keep = labels != -100
    return F.cross_entropy(logits[keep], labels[keep])


def args():
    return (torch.randn(4, 3), torch.tensor([0, -100, 2, 1]))
