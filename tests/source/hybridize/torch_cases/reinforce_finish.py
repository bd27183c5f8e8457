# breaks: none
# says: to_graph safe-if

import torch


def f(rewards, log_probs, gamma=0.99):
    R = 0
    returns = []
    for r in rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    return sum(-lp * R for lp, R in zip(log_probs, returns))


def args():
    return [1.0, 0.0, 1.0], [torch.tensor(0.1), torch.tensor(0.2), torch.tensor(0.3)]
