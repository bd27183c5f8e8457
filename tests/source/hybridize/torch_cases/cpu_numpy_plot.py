# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x.softmax(-1)
    return y.detach().cpu().numpy()


def args():
    return (torch.rand(3),)
