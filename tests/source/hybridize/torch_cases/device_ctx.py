# breaks: Not captured as one graph
# says: keep unsafe STR166

import torch


def f(x):
    with torch.device("cpu"):
        z = torch.zeros(2)
    return x + z


def args():
    return (torch.randn(2),)
