# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(img, p=0.5):
    if torch.rand(()).item() < p:
        img = img.flip(-1)
    return img


def args():
    return (torch.rand(1, 2, 2),)
