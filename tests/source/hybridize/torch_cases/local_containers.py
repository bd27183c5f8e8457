# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    out = []
    d = {}
    for i in range(3):
        out.append(x * i)
        d[i] = x + i
    s = {1, 2}
    s.add(3)
    return torch.stack(out).sum() + d[0] + len(s)


def args():
    return (torch.rand(4),)
