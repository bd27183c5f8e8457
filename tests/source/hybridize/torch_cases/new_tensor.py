# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x.new_zeros(3).sum() + x.new_tensor([1.0]) + torch.arange(4).sum() + torch.FloatTensor([1.0])


def args():
    return (torch.randn(2),)
