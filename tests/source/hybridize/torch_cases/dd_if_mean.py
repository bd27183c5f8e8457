# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    if x.mean() > 0:
        return x * 2
    return x - 1


def args():
    return (torch.randn(4),)
