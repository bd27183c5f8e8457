# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    i = torch.tensor(0)
    while i < 3:
        x = x * 2
        i = i + 1
    return x


def args():
    return (torch.randn(2),)
