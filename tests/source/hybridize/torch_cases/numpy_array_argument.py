# breaks: none
# says: no_benefit safe STR153

import numpy as np
import torch


def f(a):
    return np.tanh(a) * 2 + a.mean()


def args():
    return (np.ones(3),)


if __name__ == "__main__":
    f(*args())
