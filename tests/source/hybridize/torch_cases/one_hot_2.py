# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(y):
    return F.one_hot(y, 4).float()


def args():
    return (torch.tensor([1, 3]),)
