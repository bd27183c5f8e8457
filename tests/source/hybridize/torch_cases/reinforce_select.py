# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156 STR170

import torch
from torch import nn
from torch.distributions import Categorical

policy = nn.Linear(4, 2)
saved = []


def f(state):
    probs = policy(state).softmax(-1)
    m = Categorical(probs)
    action = m.sample()
    saved.append(m.log_prob(action))
    return action.item()


def args():
    return (torch.randn(4),)
