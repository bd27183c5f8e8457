# breaks: none
# says: to_graph safe-if

import torch


def f(scores, labels):
    order = torch.argsort(scores, descending=True)
    y = labels[order]
    tpr = torch.cumsum(y, 0) / y.sum()
    fpr = torch.cumsum(1 - y, 0) / (1 - y).sum()
    return torch.trapz(tpr, fpr)


def args():
    return torch.rand(4), torch.tensor([0.0, 1.0, 1.0, 0.0])
