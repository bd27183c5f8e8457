# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(a: np.ndarray):
    t = torch.from_numpy(a)
    return t * 2


def args():
    return (np.ones(3, dtype=np.float32),)
