# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(loss):
    if torch.isnan(loss).item():
        raise ValueError("nan")
    return loss


def args():
    return (torch.tensor(1.0),)
