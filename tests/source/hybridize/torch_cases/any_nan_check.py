# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    y = torch.log(x)
    if torch.isnan(y).any():
        y = torch.nan_to_num(y)
    return y


def args():
    return (torch.randn(4),)
