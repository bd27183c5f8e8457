# breaks: Attempted to inline function marked as skipped
# says: keep unsafe STR167

import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2)


def f(x):
    for (b,) in loader:
        x = x + b.sum()
    return x


def args():
    return (torch.randn(4),)
