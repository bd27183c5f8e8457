# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

models = [nn.Linear(3, 2) for _ in range(3)]


def f(x):
    outs = torch.stack([m(x) for m in models])
    return outs.mean(0), outs.std(0)


def args():
    return (torch.randn(2, 3),)
