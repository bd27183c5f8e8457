# breaks: Data dependent operator
# says: keep unsafe STR156

import torch


def f(ids):
    seen = set()
    out = []
    for i in ids.tolist():
        if i not in seen:
            seen.add(i)
            out.append(i)
    return torch.tensor(out)


def args():
    return (torch.tensor([1, 2, 1]),)
