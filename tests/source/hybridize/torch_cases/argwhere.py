# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    return torch.argwhere(x > 0)


def args():
    return (torch.randn(4),)
