# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.fft.ifft(torch.fft.fft(x)).real


def args():
    return (torch.randn(4),)
