# breaks: none
# says: to_graph safe-if

import torch


def f(pred, target, smooth=1.0):
    pred = pred.contiguous()
    target = target.contiguous()
    inter = (pred * target).sum(dim=2).sum(dim=2)
    loss = 1 - ((2.0 * inter + smooth) / (pred.sum(dim=2).sum(dim=2) + target.sum(dim=2).sum(dim=2) + smooth))
    return loss.mean()


def args():
    return torch.rand(1, 2, 3, 3), torch.rand(1, 2, 3, 3)
