# breaks: none
# says: to_graph safe-if

import torch


def f(rewards, gamma: float = 0.9):
    out = torch.zeros_like(rewards)
    running = 0.0
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        out[t] = running
    return out


def args():
    return (torch.randn(4),)
