# breaks: none
# says: to_graph safe

import torch


def f(samples):
    xs, ys = zip(*samples)
    return torch.stack(xs), torch.tensor(ys)


def args():
    return ([(torch.randn(2), 0), (torch.randn(2), 1)],)
