# breaks: none
# says: to_graph safe-if

import torch


def f(x, step):
    rate = 0.1 * torch.pow(torch.tensor(0.5), step // 10)
    return x * rate


def args():
    return (torch.randn(3), torch.tensor(25))
