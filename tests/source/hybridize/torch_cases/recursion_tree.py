# breaks: none
# says: to_graph safe

import torch


def tree_sum(t):
    if isinstance(t, torch.Tensor):
        return t.sum()
    return sum(tree_sum(v) for v in t)


def f(t):
    return tree_sum(t)


def args():
    return ([torch.randn(2), [torch.randn(3), torch.randn(1)]],)
