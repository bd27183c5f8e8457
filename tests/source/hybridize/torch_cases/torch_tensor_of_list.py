# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x + torch.tensor([1.0, 2.0]) + torch.as_tensor(2.0)


def args():
    return (torch.randn(2),)
