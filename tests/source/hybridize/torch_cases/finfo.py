# breaks: none
# says: to_graph safe-if

import torch


def f(x, mask):
    return x.masked_fill(mask, torch.finfo(x.dtype).min).softmax(-1)


def args():
    return torch.randn(3), torch.tensor([True, False, False])
