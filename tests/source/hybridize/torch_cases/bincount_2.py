# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(pred, y):
    return torch.bincount(pred * 3 + y, minlength=9).view(3, 3)


def args():
    return torch.tensor([0, 1, 2]), torch.tensor([0, 2, 2])
