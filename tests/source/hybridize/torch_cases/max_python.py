# breaks: none
# says: no_benefit safe STR153

import torch


def f(a, b):
    return max(a, b)


def args():
    return torch.tensor(1.0), torch.tensor(2.0)
