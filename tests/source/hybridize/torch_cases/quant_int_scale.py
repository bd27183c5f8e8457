# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, bits=8):
    scale = x.abs().max().item() / (2 ** (bits - 1) - 1)
    return torch.round(x / scale).to(torch.int8), scale


def args():
    return (torch.randn(4),)
