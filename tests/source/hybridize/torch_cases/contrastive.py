# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(a, b, temperature: float = 0.1):
    a = F.normalize(a, dim=-1)
    b = F.normalize(b, dim=-1)
    logits = a @ b.t() / temperature
    labels = torch.arange(a.size(0), device=a.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def args():
    return torch.randn(3, 4), torch.randn(3, 4)
