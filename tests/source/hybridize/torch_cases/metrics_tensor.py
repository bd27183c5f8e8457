# breaks: none
# says: to_graph safe-if

import torch


def f(pred, y):
    tp = ((pred > 0.5) & (y == 1)).sum()
    fp = ((pred > 0.5) & (y == 0)).sum()
    fn = ((pred <= 0.5) & (y == 1)).sum()
    p, r = tp / (tp + fp + 1e-9), tp / (tp + fn + 1e-9)
    return 2 * p * r / (p + r + 1e-9)


def args():
    return torch.rand(4), torch.tensor([0, 1, 1, 0])
