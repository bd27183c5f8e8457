# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if x.dtype == torch.float32 and x.device.type == "cpu":
        return x.double()
    return x


def args():
    return (torch.randn(4),)
