# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    if x.min() < 0:
        raise ValueError("negative")
    return x.sqrt()


def args():
    return (torch.rand(3),)
