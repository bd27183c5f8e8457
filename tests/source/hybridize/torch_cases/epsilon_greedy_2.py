# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch
import torch.nn as nn

q = nn.Linear(4, 2)


def f(state, eps):
    if random.random() > eps:
        with torch.no_grad():
            return q(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def args():
    return torch.randn(1, 4), 0.1
