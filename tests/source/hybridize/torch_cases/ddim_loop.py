# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

net = nn.Linear(3, 3)


@torch.no_grad()
def f(x, steps: int = 3):
    for i in reversed(range(steps)):
        t = torch.full((x.size(0),), i, dtype=torch.float32)
        eps = net(x) * t[:, None] * 0.01
        x = x - eps
        if i > 0:
            x = x + 0.1 * torch.randn_like(x)
    return x


def args():
    return (torch.randn(2, 3),)


if __name__ == "__main__":
    f(*args())
