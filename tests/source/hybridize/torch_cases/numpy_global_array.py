# breaks: none
# says: to_graph safe

import numpy as np
import torch

W = np.ones(3)


def f(x):
    return x + torch.from_numpy(W)


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
