# breaks: none
# says: to_graph safe

import torch


def f(x: torch.Tensor, groups: int):
    b, c = x.shape[:2]
    x = x.view(b, groups, c // groups, *x.shape[2:])
    x = x.transpose(1, 2).contiguous()
    return x.view(b, -1, *x.shape[3:])


def args():
    return torch.randn(1, 4, 2, 2), 2
