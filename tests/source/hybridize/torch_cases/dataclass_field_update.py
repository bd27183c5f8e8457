# breaks: none
# says: keep safe-if STR170

from dataclasses import dataclass

import torch


@dataclass
class State:
    h: torch.Tensor
    step: int = 0


def advance(state, x):
    state.h = torch.tanh(state.h + x)
    state.step += 1
    return state


def f(x):
    s = State(torch.zeros_like(x))
    for _ in range(3):
        s = advance(s, x)
    return s.h * s.step


def args():
    return (torch.randn(3),)
