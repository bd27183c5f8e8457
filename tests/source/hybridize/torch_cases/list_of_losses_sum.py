# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(preds, target):
    return sum(F.mse_loss(p, target) for p in preds) / len(preds)


def args():
    return ([torch.randn(3), torch.randn(3)], torch.randn(3))
