# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return (
        x.masked_fill(x > 0, torch.finfo(x.dtype).min)
        + torch.iinfo(torch.int32).max
        + torch.get_default_dtype().itemsize
    )


def args():
    return (torch.rand(3),)
