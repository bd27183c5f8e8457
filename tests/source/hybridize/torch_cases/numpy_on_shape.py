# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import numpy as np
import torch


def f(x):
    n = int(np.prod(x.shape))
    return x.reshape(n)


def args():
    return (torch.randn(4, 3),)
