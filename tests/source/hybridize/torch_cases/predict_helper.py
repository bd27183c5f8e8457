# breaks: Data dependent operator; Tensor.tolist() with non-integer tensor
# says: keep unsafe STR156

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.body(x)


model = Model().eval()
LABELS = ["cat", "dog", "bird"]


def f(x):
    with torch.no_grad():
        probs = torch.softmax(model(x), dim=-1)
    conf, idx = probs.max(dim=-1)
    return [(LABELS[i], c) for i, c in zip(idx.tolist(), conf.tolist())]


def args():
    return (torch.randn(2, 4),)
