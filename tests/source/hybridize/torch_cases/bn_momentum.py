# breaks: none
# says: to_graph safe-if

import torch


def f(x, running, momentum=0.1, eps=1e-5, training=True):
    if training:
        mean, var = x.mean(0), x.var(0, unbiased=False)
        running["mean"] = (1 - momentum) * running["mean"] + momentum * mean
    else:
        mean, var = running["mean"], torch.ones_like(running["mean"])
    return (x - mean) / torch.sqrt(var + eps)


def args():
    return torch.randn(4, 2), {"mean": torch.zeros(2)}
