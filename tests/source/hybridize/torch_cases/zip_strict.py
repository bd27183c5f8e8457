# breaks: none
# says: to_graph safe-if

import torch


def f(xs, ys):
    return sum((x * y).sum() for x, y in zip(xs, ys, strict=True))


def args():
    return [torch.randn(2)], [torch.randn(2)]
