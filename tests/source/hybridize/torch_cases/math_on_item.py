# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import math

import torch


def f(loss):
    ppl = math.exp(loss.item())
    return ppl


def args():
    return (torch.tensor(1.0),)
