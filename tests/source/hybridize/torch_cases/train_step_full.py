# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR161 STR167

import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def f(x, y):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss


def args():
    return torch.randn(2, 4), torch.tensor([0, 1])


if __name__ == "__main__":
    f(*args())
