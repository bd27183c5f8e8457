# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(x):
    if torch.rand(1).item() < 0.5:
        return x
    return -x


def args():
    return (torch.randn(2, 3),)
