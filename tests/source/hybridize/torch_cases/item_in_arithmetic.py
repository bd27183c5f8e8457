# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    scale = x.max().item()
    return x / scale


def args():
    return (torch.randn(4),)
