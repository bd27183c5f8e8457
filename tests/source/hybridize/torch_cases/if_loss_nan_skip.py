# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x, y):
    loss = ((x - y) ** 2).mean()
    if torch.isnan(loss):
        return torch.zeros(())
    return loss


def args():
    return (torch.randn(4), torch.randn(4))
