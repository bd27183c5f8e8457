# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, lengths):
    parts = torch.split(x, lengths.tolist())
    return torch.stack([p.mean() for p in parts])


def args():
    return torch.randn(5), torch.tensor([2, 3])
