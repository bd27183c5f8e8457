# breaks: Not captured as one graph
# says: to_graph safe-if

import torch


def f(emissions, transitions):
    score = emissions[0]
    back = []
    for t in range(1, emissions.size(0)):
        m = score.unsqueeze(1) + transitions + emissions[t].unsqueeze(0)
        score, idx = m.max(dim=0)
        back.append(idx)
    best = [score.argmax()]
    for idx in reversed(back):
        best.append(idx[best[-1]])
    return torch.stack(best[::-1])


def args():
    return torch.randn(4, 3), torch.randn(3, 3)
