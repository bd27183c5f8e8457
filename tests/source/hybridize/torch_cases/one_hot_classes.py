# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(x):
    return F.one_hot(x, num_classes=3) * 2


def args():
    return (torch.tensor([0, 1, 1]),)
