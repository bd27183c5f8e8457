# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

model = nn.Linear(2, 2)


def f(x):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        return model(x).float().sum()


def args():
    return (torch.randn(2, 2),)
