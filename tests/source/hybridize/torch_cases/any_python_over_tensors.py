# breaks: none
# says: to_graph safe-if

import torch


def f(xs):
    if any(x.requires_grad for x in xs):
        return torch.stack(xs).sum()
    return torch.stack(xs).mean()


def args():
    return ([torch.randn(2), torch.randn(2)],)
