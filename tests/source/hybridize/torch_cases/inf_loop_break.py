# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    i = 0
    while True:
        x = x * 2
        i += 1
        if i >= 3:
            break
    return x


def args():
    return (torch.randn(2),)
