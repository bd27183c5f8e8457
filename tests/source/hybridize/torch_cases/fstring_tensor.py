# breaks: Observed exception
# says: keep unsafe STR165

import torch


def f(x):
    name = f"{x.sum()}"
    return x * len(name)


def args():
    return (torch.randn(4, 6),)
