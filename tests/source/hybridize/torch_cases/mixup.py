# breaks: attempted to trace numpy function unsupported by PyTorch
# says: keep unsafe STR162 STR175

import numpy as np
import torch


def f(x, y, alpha=0.2):
    lam = np.random.beta(alpha, alpha)
    idx = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[idx], y, y[idx], lam


def args():
    return torch.randn(4, 2), torch.randint(0, 2, (4,))


if __name__ == "__main__":
    f(*args())
