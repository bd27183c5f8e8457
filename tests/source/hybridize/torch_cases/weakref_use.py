# breaks: none
# says: to_graph safe-if

import weakref

import torch


class O:
    pass


o = O()


def f(x):
    r = weakref.ref(o)
    return x + 1


def args():
    return (torch.randn(2),)
