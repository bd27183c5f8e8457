# breaks: none
# says: to_graph safe-if

import torch


def f(x, y):
    return torch.vmap(torch.dot)(x, y)


def args():
    return torch.randn(3, 4), torch.randn(3, 4)
