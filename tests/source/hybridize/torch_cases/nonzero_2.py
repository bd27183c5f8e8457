# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    idx = x.nonzero()
    return idx.float().mean()


def args():
    return (torch.randn(5),)
