# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(x: torch.Tensor):
    return torch.tensor(np.linalg.norm(x.numpy()))


def args():
    return (torch.randn(3),)
