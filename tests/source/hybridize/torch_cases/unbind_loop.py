# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    state = torch.zeros_like(x[0])
    outs = []
    for step in x.unbind(0):
        state = torch.tanh(state + step)
        outs.append(state)
    return torch.stack(outs)


def args():
    return (torch.randn(4, 3),)
