# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

net = nn.Linear(4, 4)


@torch.no_grad()
def f(x, timesteps):
    imgs = []
    for t in timesteps:
        tt = torch.full((x.shape[0],), t, dtype=torch.long)
        x = x - 0.1 * net(x) * (tt[:, None] > 0)
        imgs.append(x)
    return x, imgs


def args():
    return torch.randn(2, 4), [3, 2, 1]
