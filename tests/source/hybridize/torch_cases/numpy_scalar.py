# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    return x * np.sqrt(2.0)


def args():
    return (torch.randn(4),)
