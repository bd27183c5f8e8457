# breaks: Data dependent operator
# says: keep unsafe STR162 STR175

import numpy as np
import torch


def f(x):
    return x * np.random.rand()


def args():
    return (torch.randn(4),)
