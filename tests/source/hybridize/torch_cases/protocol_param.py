# breaks: none
# says: to_graph safe-if

from typing import Protocol

import torch


class Scorer(Protocol):
    def score(self, x: torch.Tensor) -> torch.Tensor: ...


class Dot:
    def __init__(self):
        self.w = torch.ones(3)

    def score(self, x):
        return x @ self.w


scorer = Dot()


def f(x):
    return scorer.score(x)


def args():
    return (torch.randn(2, 3),)
