# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x.cpu().to(torch.float64).to("cpu").type_as(x)


def args():
    return (torch.randn(4),)
