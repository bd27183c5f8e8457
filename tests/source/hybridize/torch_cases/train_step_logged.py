# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`; Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156 STR161 STR167 STR170

import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters())
losses = []


def f(x, y):
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
    return loss


def args():
    return torch.randn(2, 4), torch.randn(2, 1)
