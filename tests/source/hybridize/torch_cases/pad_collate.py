# breaks: none
# says: to_graph safe

import torch


def f(seqs: list[torch.Tensor], pad: int = 0):
    n = max(len(s) for s in seqs)
    out = torch.full((len(seqs), n), pad)
    for i, s in enumerate(seqs):
        out[i, : len(s)] = s
    return out


def args():
    return ([torch.tensor([1, 2]), torch.tensor([3])],)
