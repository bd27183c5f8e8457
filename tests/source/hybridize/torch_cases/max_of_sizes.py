# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x * max(x.shape[0], 2) * min(3, 4) * abs(-2) * round(2.6) * pow(2, 3) * sum([1, 2])


def args():
    return (torch.randn(4),)
