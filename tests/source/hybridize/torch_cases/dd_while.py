# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    while x.norm() > 1:
        x = x / 2
    return x


def args():
    return (torch.randn(4) * 5,)
