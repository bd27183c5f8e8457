# breaks: none
# says: to_graph safe

import torch


def f(x):
    d = torch.distributions.Normal(x, 1.0)
    return d.log_prob(x) + d.rsample()


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
