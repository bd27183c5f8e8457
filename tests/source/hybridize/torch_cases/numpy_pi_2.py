# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    return torch.sin(x * np.pi)


def args():
    return (torch.randn(4),)
