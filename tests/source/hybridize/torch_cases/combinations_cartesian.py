# breaks: Dynamic shape operator
# says: keep unsafe STR157

import torch


def f(x):
    return torch.combinations(x).sum() + torch.cartesian_prod(x, x).sum() + torch.meshgrid(x, x, indexing="ij")[0].sum()


def args():
    return (torch.randn(3),)
