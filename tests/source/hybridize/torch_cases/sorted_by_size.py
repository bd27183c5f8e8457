# breaks: none
# says: to_graph safe-if

import torch


def f(xs):
    return torch.cat(sorted(xs, key=lambda t: t.shape[0]))


def args():
    return ([torch.randn(3), torch.randn(2)],)
