# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

q, target = nn.Linear(4, 2), nn.Linear(4, 2)


def f(batch):
    s, a, r, s2, d = batch
    qsa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        nxt = target(s2).max(1)[0]
        y = r + 0.99 * nxt * (1 - d)
    return nn.functional.smooth_l1_loss(qsa, y)


def args():
    return ((torch.randn(3, 4), torch.tensor([0, 1, 0]), torch.randn(3), torch.randn(3, 4), torch.zeros(3)),)
