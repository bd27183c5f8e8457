# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    mask = np.asarray(x.detach()) > 0
    return x * torch.from_numpy(mask)


def args():
    return (torch.randn(3),)
