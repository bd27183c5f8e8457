# function: Ops.run
# breaks: none
# says: to_graph safe-if

import torch


class Ops:
    @staticmethod
    def norm(x, eps=1e-5):
        return (x - x.mean()) / (x.std() + eps)

    @classmethod
    def run(cls, x):
        return cls.norm(x) * 2


f = Ops.run


def args():
    return (torch.randn(3),)
