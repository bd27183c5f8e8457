# breaks: none
# says: to_graph safe

import torch


def f(xs, ws):
    return sum(w * x for w, x in zip(ws, xs))


def args():
    return [torch.randn(2), torch.randn(2)], [0.3, 0.7]


if __name__ == "__main__":
    f(*args())
