# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    z = torch.fft.rfft(x)
    return torch.view_as_real(z).pow(2).sum(-1)


def args():
    return (torch.randn(3, 8),)
