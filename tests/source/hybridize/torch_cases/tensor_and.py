# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(x):
    ok = (x > 0).all() and (x < 5).all()
    return ok


def args():
    return (torch.rand(3),)
