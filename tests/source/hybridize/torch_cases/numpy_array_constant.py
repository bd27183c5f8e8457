# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    return x + torch.tensor(np.array([1.0, 2.0, 3.0]))


def args():
    return (torch.rand(3),)
