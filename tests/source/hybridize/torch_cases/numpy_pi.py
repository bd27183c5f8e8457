# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(x):
    return x * np.pi


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
