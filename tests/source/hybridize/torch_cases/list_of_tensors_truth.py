# breaks: none
# says: to_graph safe

import torch


def f(xs):
    if not xs:
        return torch.zeros(1)
    return torch.stack(xs).sum(0)


def args():
    return ([torch.rand(3)],)


if __name__ == "__main__":
    f(*args())
