# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, n):
    return torch.zeros(n.item()) + x.sum()


def args():
    return torch.randn(4), torch.tensor(3)
