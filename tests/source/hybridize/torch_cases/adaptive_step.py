# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(y, tol=1e-3):
    t, dt = 0.0, 0.1
    while t < 0.3:
        y1 = y - dt * y
        err = (y1 - y).abs().max()
        if err < tol:
            dt *= 2
        y = y1
        t += dt
    return y


def args():
    return (torch.randn(3),)
