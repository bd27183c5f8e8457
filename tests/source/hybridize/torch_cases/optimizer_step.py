# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR167

import torch
import torch.nn as nn

model = nn.Linear(4, 3)
for p in model.parameters():
    p.grad = torch.ones_like(p)
opt = torch.optim.Adam(model.parameters())


def f():
    opt.step()


def args():
    return ()


if __name__ == "__main__":
    f(*args())
