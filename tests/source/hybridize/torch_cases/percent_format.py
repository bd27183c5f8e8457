# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    s = "%d-%s" % (x.shape[0], "a")
    return x * len(s)


def args():
    return (torch.randn(2),)
