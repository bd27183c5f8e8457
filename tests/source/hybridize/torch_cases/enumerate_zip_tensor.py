# breaks: none
# says: to_graph safe

import torch


def f(x, y):
    out = []
    for i, (a, b) in enumerate(zip(x, y)):
        out.append(a * b + i)
    return torch.stack(out)


def args():
    return torch.rand(4, 3), torch.rand(4, 3)


if __name__ == "__main__":
    f(*args())
