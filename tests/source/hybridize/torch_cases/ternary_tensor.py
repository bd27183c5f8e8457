# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    y = x if x.sum() > 0 else -x
    return y + 1


def args():
    return (torch.randn(3),)
