# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x + torch.Tensor([1.0, 2.0, 3.0]) + torch.full((3,), 2.0) + torch.eye(3).sum()


def args():
    return (torch.rand(3),)
