# breaks: attempted to trace numpy function unsupported by PyTorch
# says: keep unsafe STR162 STR175

import numpy as np
import torch


def f(x, y, alpha=1.0):
    lam = np.random.beta(alpha, alpha) if alpha > 0 else 1
    index = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[index], y, y[index], lam


def args():
    return torch.randn(4, 3), torch.arange(4)
