# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch
import torch.nn as nn

model = nn.Linear(4, 3)


def f(x, y):
    out = model(x)
    return (out.argmax(1) == y).sum().item()


def args():
    return torch.randn(2, 4), torch.tensor([0, 1])
