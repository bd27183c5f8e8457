# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

model = nn.Linear(4, 3)
for p in model.parameters():
    p.grad = torch.ones_like(p)


def f():
    return torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def args():
    return ()


if __name__ == "__main__":
    f(*args())
