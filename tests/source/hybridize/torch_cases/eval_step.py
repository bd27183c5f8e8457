# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

model = nn.Linear(4, 3)


def f(x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return (out.argmax(1) == y).float().mean()


def args():
    return torch.randn(2, 4), torch.tensor([0, 1])


if __name__ == "__main__":
    f(*args())
