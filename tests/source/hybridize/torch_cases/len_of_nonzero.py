# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    hits = (x > 0).nonzero()
    return x.sum() / max(len(hits), 1)


def args():
    return (torch.randn(8),)
