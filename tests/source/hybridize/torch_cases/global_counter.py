# breaks: none
# says: keep safe-if STR170

import torch

count = 0


def f(x):
    global count
    count += 1
    return x * 2


def args():
    return (torch.rand(4),)
