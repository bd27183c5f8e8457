# breaks: none
# says: to_graph safe

import torch


class O:
    def __init__(self):
        self.a = 1


def f(x, o):
    setattr(o, "b", x)
    delattr(o, "a")
    return x + 1


def args():
    return torch.randn(2), O()


if __name__ == "__main__":
    f(*args())
