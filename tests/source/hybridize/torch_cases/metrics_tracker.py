# breaks: none
# says: keep safe-if STR170

from collections import defaultdict

import torch

metrics = defaultdict(list)


def track(name, value):
    metrics[name].append(value.detach())


def f(x):
    y = x.relu()
    track("mean", y.mean())
    return y


def args():
    return (torch.randn(3),)
