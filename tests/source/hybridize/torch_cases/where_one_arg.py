# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    (i,) = torch.where(x > 0)
    return x[i]


def args():
    return (torch.randn(5),)
