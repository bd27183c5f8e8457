# breaks: none
# says: to_graph safe-if

import torch


class Vec:
    def __init__(self, t):
        self.t = t

    def __add__(self, o):
        return Vec(self.t + o.t)

    def __getitem__(self, i):
        return self.t[i]

    def __len__(self):
        return 2

    def __call__(self, s):
        return self.t * s

    def __iter__(self):
        return iter([self.t, self.t + 1])

    def __contains__(self, v):
        return v == 1


def f(x):
    v = Vec(x) + Vec(x)
    a, b = v
    if 1 in v:
        a = a + 1
    return v[0] + v(2) + len(v) + a + b


def args():
    return (torch.randn(2),)
