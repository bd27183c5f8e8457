# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
model.eval()


@torch.no_grad()
def f(x):
    return model(x).argmax(-1)


def args():
    return (torch.randn(2, 4),)
