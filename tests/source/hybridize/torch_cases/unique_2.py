# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    return torch.unique(x).numel()


def args():
    return (torch.randint(0, 3, (5,)),)
