# breaks: none
# says: to_graph safe

import torch


class Losses:
    @staticmethod
    def l2(a, b):
        return ((a - b) ** 2).mean()

    @classmethod
    def total(cls, a, b):
        return cls.l2(a, b) + (a - b).abs().mean()


def f(a, b):
    return Losses.total(a, b)


def args():
    return torch.randn(3), torch.randn(3)


if __name__ == "__main__":
    f(*args())
