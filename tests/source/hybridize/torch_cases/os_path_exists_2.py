# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import os
import torch


def f(x):
    if os.path.exists("/nonexistent"):
        return x * 2
    return x


def args():
    return (torch.randn(3),)
