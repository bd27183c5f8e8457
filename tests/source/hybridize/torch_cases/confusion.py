# breaks: Not captured as one graph
# says: keep unsafe STR156

import torch


def f(pred: torch.Tensor, target: torch.Tensor, n: int = 3):
    cm = torch.zeros(n, n, dtype=torch.long)
    for p, t in zip(pred, target):
        cm[t, p] += 1
    return cm


def args():
    return torch.tensor([0, 1]), torch.tensor([0, 2])
