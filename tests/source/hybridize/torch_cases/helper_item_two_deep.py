# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def scale(x):
    return x.norm().item()


def normalise(x):
    return x / scale(x)


def f(x):
    return normalise(x) + 1


def args():
    return (torch.randn(2),)
