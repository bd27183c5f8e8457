# breaks: none
# says: to_graph safe

import torch


class Options:
    scale = 2


def f(x, o):
    if hasattr(o, "scale") and isinstance(o, Options):
        x = x * getattr(o, "scale", 1)
    return x


def args():
    return torch.rand(4), Options()


if __name__ == "__main__":
    f(*args())
