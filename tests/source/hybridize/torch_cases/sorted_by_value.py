# breaks: sort with non-constant keys
# says: keep unsafe STR155

import torch


def f(xs):
    return torch.stack(sorted(xs, key=lambda t: t.sum()))


def args():
    return ([torch.randn(3), torch.randn(3)],)
