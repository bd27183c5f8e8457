# breaks: none
# says: to_graph safe-if

import torch


def f(xs):
    return sum(map(lambda t: t.mean(), filter(lambda t: t.dim() > 0, xs)))


def args():
    return ([torch.randn(3), torch.randn(3)],)
