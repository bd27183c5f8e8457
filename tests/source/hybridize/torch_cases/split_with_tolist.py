# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, lengths):
    return [p.sum() for p in x.split(lengths.tolist())]


def args():
    return torch.rand(6), torch.tensor([2, 4])
