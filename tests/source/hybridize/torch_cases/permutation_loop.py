# breaks: none
# says: to_graph safe

import itertools

import torch
import torch.nn.functional as F


def f(pred, target):
    losses = []
    for p in itertools.permutations(range(pred.size(1))):
        losses.append(F.mse_loss(pred[:, list(p)], target))
    return torch.stack(losses).min()


def args():
    return torch.randn(2, 3), torch.randn(2, 3)


if __name__ == "__main__":
    f(*args())
