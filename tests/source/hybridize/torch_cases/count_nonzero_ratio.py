# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.count_nonzero(x) / x.numel()


def args():
    return (torch.tensor([1, 0, 2]),)
