# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

m = nn.Linear(3, 3)
for p in m.parameters():
    p.grad = torch.ones_like(p)


def f():
    return nn.utils.clip_grad_norm_(m.parameters(), 1.0)


def args():
    return ()
