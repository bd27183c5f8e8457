# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(x):
    w = np.linspace(0, 1, 3)
    return x * torch.from_numpy(w)


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
