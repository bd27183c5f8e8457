# breaks: Data dependent operator
# says: keep unsafe STR156

import torch


def f(ids):
    uniq = set(ids.tolist())
    return torch.tensor(sorted(uniq))


def args():
    return (torch.tensor([1, 2, 2]),)
