# breaks: none
# says: to_graph safe-if

import torch


def f(metrics, loss):
    metrics["loss"] = loss.detach()
    metrics.setdefault("n", 0)
    metrics["n"] += 1
    return loss * 2


def args():
    return {}, torch.tensor(1.0)
