# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    return torch.tensor(x.sum().item()) + 1


def args():
    return (torch.rand(3),)
