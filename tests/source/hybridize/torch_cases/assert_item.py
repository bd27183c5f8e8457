# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    assert x.sum().item() > -1e9, "bad"
    return x * 2


def args():
    return (torch.randn(2, 4),)
