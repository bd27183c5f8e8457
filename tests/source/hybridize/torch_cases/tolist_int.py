# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    values = x.tolist()
    return values[0] + values[1]


def args():
    return (torch.tensor([1, 2]),)
