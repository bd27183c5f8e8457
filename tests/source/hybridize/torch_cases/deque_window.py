# breaks: none
# says: no_benefit safe-if STR153

from collections import deque

import torch


def f(xs):
    d = deque(maxlen=2)
    for t in xs:
        d.append(t)
    return sum(d)


def args():
    return ([torch.randn(2), torch.randn(2), torch.randn(2)],)
