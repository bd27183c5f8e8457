# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    if torch.rand(1) < 0.5:
        return x
    return -x


def args():
    return (torch.randn(2, 3),)
