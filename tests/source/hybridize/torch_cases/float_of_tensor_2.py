# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    s = float(x.max())
    return x / s


def args():
    return (torch.randn(4),)
