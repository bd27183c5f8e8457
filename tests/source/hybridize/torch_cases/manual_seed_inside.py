# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import torch


def f(x):
    torch.manual_seed(0)
    return x + torch.randn_like(x)


def args():
    return (torch.randn(3),)
