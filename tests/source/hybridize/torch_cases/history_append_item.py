# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156 STR170

import torch

history = []


def f(loss):
    history.append(loss.item())
    return loss * 2


def args():
    return (torch.tensor(1.0),)
