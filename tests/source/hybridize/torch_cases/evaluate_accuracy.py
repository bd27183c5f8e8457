# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch
from torch import nn

m = nn.Linear(2, 3)


@torch.no_grad()
def f(x, y):
    m.eval()
    correct = 0
    correct += (m(x).argmax(1) == y).sum().item()
    return correct / len(y)


def args():
    return (torch.randn(4, 2), torch.tensor([0, 1, 2, 0]))
