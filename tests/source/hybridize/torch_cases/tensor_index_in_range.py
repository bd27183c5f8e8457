# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x: torch.Tensor, n: torch.Tensor):
    return x[int(n)] + x[n]


def args():
    return torch.rand(3), torch.tensor(1)
