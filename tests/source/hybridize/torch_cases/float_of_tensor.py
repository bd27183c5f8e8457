# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    k = float(x.mean())
    return x * k


def args():
    return (torch.rand(4),)
