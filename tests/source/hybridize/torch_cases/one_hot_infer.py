# breaks: Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape
# says: keep unsafe STR157

import torch
import torch.nn.functional as F


def f(y):
    return F.one_hot(y).float()


def args():
    return (torch.tensor([1, 3]),)
