# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    b, c, h, w = x.shape
    pad = (-h) % 4
    x = torch.nn.functional.pad(x, (0, pad, 0, pad))
    return x.reshape(b, c, (h + pad) // 4, 4, -1).mean(3)


def args():
    return (torch.randn(1, 2, 6, 6),)
