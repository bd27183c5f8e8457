# breaks: Not captured as one graph (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    try:
        v = x.item()
    except RuntimeError:
        v = 0.0
    return v + 1


def args():
    return (torch.tensor(2.0),)
