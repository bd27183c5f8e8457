# breaks: none
# says: keep safe-if STR170

import torch


def f(xs):
    xs.append(xs[-1] * 2)
    return torch.cat(xs)


def args():
    return ([torch.randn(2), torch.randn(2)],)
