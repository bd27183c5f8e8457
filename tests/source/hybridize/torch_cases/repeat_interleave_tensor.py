# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x: torch.Tensor, n: torch.Tensor):
    return torch.repeat_interleave(x, n)


def args():
    return torch.randn(3), torch.tensor([1, 2, 3])
