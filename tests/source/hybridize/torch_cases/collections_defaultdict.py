# breaks: none
# says: to_graph safe-if

from collections import defaultdict

import torch


def f(xs):
    d = defaultdict(list)
    for i, t in enumerate(xs):
        d[i % 2].append(t)
    return torch.stack(d[0]).sum()


def args():
    return ([torch.randn(2), torch.randn(2), torch.randn(2)],)
