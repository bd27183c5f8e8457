# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(x):
    a = x.numpy()
    return torch.from_numpy(np.histogram2d(a, a)[0])


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
