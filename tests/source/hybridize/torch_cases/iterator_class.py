# breaks: none
# says: keep safe-if STR170

import torch


class It:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


def f(x):
    for i in It(3):
        x = x + i
    return x


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
