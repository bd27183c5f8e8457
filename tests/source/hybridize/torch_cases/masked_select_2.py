# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x, mask):
    return torch.masked_select(x, mask).mean()


def args():
    return torch.rand(3), torch.tensor([True, False, True])
