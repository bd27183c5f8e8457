# breaks: none
# says: to_graph safe-if

import torch


def f(xs):
    if any(x.requires_grad for x in xs):
        return xs[0] * 2
    return sum(xs)


def args():
    return ([torch.randn(2), torch.randn(2)],)
