# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if torch.cuda.is_available():
        x = x.cuda()
    return x + 1


def args():
    return (torch.randn(2),)
