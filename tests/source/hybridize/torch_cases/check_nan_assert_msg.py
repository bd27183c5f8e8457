# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    assert not torch.isnan(x).any(), f"nan in input of shape {tuple(x.shape)}"
    return x * 2


def args():
    return (torch.randn(3),)
