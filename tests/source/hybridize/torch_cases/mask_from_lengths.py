# breaks: none
# says: to_graph safe-if

import torch


def f(lengths, max_len: int):
    r = torch.arange(max_len)
    return r[None, :] < lengths[:, None]


def args():
    return torch.tensor([1, 3]), 4
