# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`; Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156 STR161 STR167

import torch
import torch.nn as nn

model = nn.Linear(4, 2)
opt = torch.optim.Adam(model.parameters())
crit = nn.CrossEntropyLoss()


def f(x, y):
    out = model(x)
    loss = crit(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def args():
    return torch.randn(3, 4), torch.tensor([0, 1, 1])
