# breaks: Unsupported Tensor.backward() call
# says: keep unsafe STR161

import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Linear(2, 1)


def f(x, y, accum: int):
    loss = F.mse_loss(model(x), y) / accum
    loss.backward()
    return loss.detach()


def args():
    return torch.randn(2, 2), torch.randn(2, 1), 2
