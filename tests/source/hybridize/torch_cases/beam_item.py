# breaks: Not captured as one graph (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(logits):
    best = []
    for t in range(logits.size(0)):
        best.append(logits[t].argmax().item())
    return best


def args():
    return (torch.randn(3, 5),)
