# breaks: none
# says: to_graph safe

import torch


class O:
    def __init__(self):
        self.a = 1


o = O()


def f(x):
    return x + o.__dict__["a"] + len(o.__class__.__name__)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
