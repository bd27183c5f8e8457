# breaks: Data dependent operator
# says: keep unsafe STR162 STR175

import numpy as np
import torch


def f(x):
    i = np.random.randint(3)
    return x[i]


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
