# breaks: Not captured as one graph (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, lengths):
    outs = []
    for i in range(x.size(0)):
        outs.append(x[i, : lengths[i]].mean())
    return torch.stack(outs)


def args():
    return torch.randn(2, 5), torch.tensor([2, 3])
