# breaks: none
# says: to_graph safe-if

import torch


class Complex:
    def __init__(self, re, im):
        self.re, self.im = re, im

    def __mul__(self, o):
        return Complex(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)

    def abs(self):
        return (self.re**2 + self.im**2).sqrt()


def f(a, b):
    return (Complex(a, b) * Complex(b, a)).abs()


def args():
    return torch.rand(2), torch.rand(2)
