# breaks: none
# says: to_graph safe-if

import torch


def f(rewards, values, dones, gamma=0.99, lam=0.95):
    adv = torch.zeros_like(rewards)
    last = 0
    for t in reversed(range(len(rewards) - 1)):
        mask = 1.0 - dones[t]
        delta = rewards[t] + gamma * values[t + 1] * mask - values[t]
        last = delta + gamma * lam * mask * last
        adv[t] = last
    return adv


def args():
    return torch.randn(4), torch.randn(4), torch.zeros(4)
