# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


def f(w):
    nn.init.xavier_uniform_(w)
    return w.sum()


def args():
    return (torch.empty(3, 4),)
