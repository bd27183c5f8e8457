# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x: torch.Tensor, i: torch.Tensor):
    return [x, x + 1, x + 2][i]


def args():
    return torch.randn(4), torch.tensor(2)
