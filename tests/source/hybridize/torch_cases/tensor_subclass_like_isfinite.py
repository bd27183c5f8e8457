# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(loss):
    if not torch.isfinite(loss):
        raise RuntimeError("diverged")
    return loss * 2


def args():
    return (torch.tensor(1.0),)
