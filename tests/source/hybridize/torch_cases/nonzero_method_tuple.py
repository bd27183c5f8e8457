# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    (idx,) = x.nonzero(as_tuple=True)
    return x[idx] * 2


def args():
    return (torch.tensor([0.0, 1.0]),)
