# breaks: none
# says: to_graph safe

import torch


def f(x):
    d = torch.distributions.Categorical(logits=x)
    a = d.sample()
    return a, d.log_prob(a), d.entropy()


def args():
    return (torch.rand(3),)
