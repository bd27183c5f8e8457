# breaks: none
# says: to_graph safe-if

import torch


class Affine:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, x):
        return self.a * x + self.b


chain = [Affine(2.0, 1.0), Affine(0.5, 0.0)]


def f(x):
    for step in chain:
        x = step(x)
    return x


def args():
    return (torch.randn(3),)
