# breaks: none
# says: to_graph safe-if

import numpy as np
import torch


def f(x):
    a = x.detach().numpy()
    b = np.clip(a, -1, 1)
    return torch.from_numpy(b) + 1


def args():
    return (torch.randn(4),)
