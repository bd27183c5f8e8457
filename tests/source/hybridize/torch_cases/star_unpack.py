# breaks: none
# says: to_graph safe

import torch


def f(*tensors, dim=0):
    first, *rest = tensors
    out = first
    for r in rest:
        out = torch.maximum(out, r)
    return out.sum(dim)


def args():
    return torch.randn(2), torch.randn(2)
