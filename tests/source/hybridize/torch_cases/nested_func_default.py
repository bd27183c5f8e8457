# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    def poly(t, coef=(1.0, 2.0, 3.0)):
        out = torch.zeros_like(t)
        for c in coef:
            out = out * t + c
        return out

    return poly(x) + poly(x, (1.0,))


def args():
    return (torch.randn(3),)
