# breaks: none
# says: to_graph safe-if

import torch


def f(x, w, axis="b"):
    return torch.einsum(f"{axis}i,ij->{axis}j", x, w)


def args():
    return torch.randn(3, 4), torch.randn(4, 2)
