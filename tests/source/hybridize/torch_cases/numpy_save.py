# breaks: attempted to trace numpy function unsupported by PyTorch
# says: keep unsafe STR174

import os
import tempfile

import numpy as np
import torch

PATH = os.path.join(tempfile.gettempdir(), "strop_case.npy")


def f(x):
    np.save(PATH, x.detach().numpy())
    return x * 2


def args():
    return (torch.randn(2),)
