# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    return torch.from_numpy(np.exp(x.numpy()))


def args():
    return (torch.randn(4),)
