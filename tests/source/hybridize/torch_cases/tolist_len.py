# breaks: Data dependent operator
# says: keep unsafe STR156

import torch


def f(ids, pad: int = 0):
    rows = ids.tolist()
    return [len([t for t in r if t != pad]) for r in rows]


def args():
    return (torch.tensor([[1, 2, 0]]),)
