# breaks: none
# says: to_graph safe-if

import torch


class O:
    def __init__(self):
        self.a = 1


o = O()


def f(x):
    return x + vars(o)["a"]


def args():
    return (torch.randn(2),)
