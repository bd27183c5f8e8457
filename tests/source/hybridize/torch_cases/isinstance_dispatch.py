# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if isinstance(x, (list, tuple)):
        x = torch.stack(list(x))
    elif not isinstance(x, torch.Tensor):
        x = torch.tensor(x)
    return x * 2


def args():
    return (torch.randn(2),)
