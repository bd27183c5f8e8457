# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, sizes):
    parts = torch.split(x, sizes.tolist(), dim=0)
    return torch.stack([p.sum(0) for p in parts])


def args():
    return (torch.randn(6, 2), torch.tensor([1, 2, 3]))
