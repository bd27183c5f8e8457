# breaks: setattr() on Tensor.requires_grad; Unsupported Tensor.backward() call
# says: keep unsafe STR161 STR177

import torch
import torch.nn as nn

model = nn.Linear(4, 2)


def f(x, y, eps):
    x.requires_grad = True
    loss = nn.functional.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    return torch.clamp(x + eps * x.grad.data.sign(), 0, 1)


def args():
    return torch.rand(2, 4), torch.tensor([0, 1]), 0.1
