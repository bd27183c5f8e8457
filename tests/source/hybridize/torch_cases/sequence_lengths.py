# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, lengths):
    outs = []
    for i, n in enumerate(lengths.tolist()):
        outs.append(x[i, :n].mean())
    return torch.stack(outs)


def args():
    return torch.randn(2, 5), torch.tensor([3, 5])


if __name__ == "__main__":
    f(*args())
