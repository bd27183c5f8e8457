# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    h = torch.zeros(x.size(1))
    outs = []
    for t in range(x.size(0)):
        h = torch.where(x[t] > 0, h + x[t], h * 0.5)
        outs += [h]
    return torch.stack(outs)


def args():
    return (torch.randn(3, 2),)
