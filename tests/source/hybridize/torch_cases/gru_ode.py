# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))


def rk4(fn, y, t, dt):
    k1 = fn(t, y)
    k2 = fn(t + dt / 2, y + dt * k1 / 2)
    k3 = fn(t + dt / 2, y + dt * k2 / 2)
    k4 = fn(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def f(y0, ts):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        ys.append(rk4(lambda t, y: net(y), ys[-1], t0, t1 - t0))
    return torch.stack(ys)


def args():
    return torch.randn(2, 3), torch.linspace(0, 1, 4)
