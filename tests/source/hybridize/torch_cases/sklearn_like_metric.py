# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import numpy as np
import torch


def f(pred):
    p = pred.detach().numpy()
    return float(np.mean(p))


def args():
    return (torch.randn(3),)
