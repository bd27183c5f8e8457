# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    return torch.bincount(x)


def args():
    return (torch.tensor([0, 1, 1]),)
