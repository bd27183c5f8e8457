# breaks: none
# says: to_graph safe-if

import torch


def f(x, p=2):
    b, c, h, w = x.shape
    assert h % p == 0 and w % p == 0, "bad size"
    return x.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).reshape(b, -1, c * p * p)


def args():
    return (torch.randn(1, 2, 4, 4),)
