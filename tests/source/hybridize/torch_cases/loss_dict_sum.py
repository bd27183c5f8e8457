# breaks: none
# says: to_graph safe-if

import torch


def f(losses, weights):
    total = 0
    for k, v in losses.items():
        if k in weights:
            total = total + weights[k] * v
    return total


def args():
    return {"a": torch.tensor(1.0), "b": torch.tensor(2.0)}, {"a": 0.5}
