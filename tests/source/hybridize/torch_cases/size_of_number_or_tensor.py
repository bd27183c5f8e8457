# breaks: none
# says: to_graph safe-if STR156

import torch


def grid(x, height, width):
    return x + torch.arange(height)[:, None] * torch.arange(width)


def f(x):
    sizes = {"height": 2, "width": 3, "weight": x}
    given = {name: sizes[name] for name in ("height", "width")}
    return grid(x * sizes["weight"], **given)


def args():
    return (torch.randn(2, 3),)
