# breaks: none
# says: to_graph safe-if

import torch


def f(x, L=4):
    out = [x]
    for i in range(L):
        for fn in [torch.sin, torch.cos]:
            out.append(fn(2.0**i * x))
    return torch.cat(out, -1)


def args():
    return (torch.randn(2, 3),)
