# function: Trainer.step
# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`; Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156 STR161 STR167 STR170

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.losses = []

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = (self.model(x) - y).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.losses.append(float(loss))
        return loss


trainer = Trainer(nn.Linear(3, 1))
f = trainer.step


def args():
    return torch.randn(2, 3), torch.randn(2, 1)
