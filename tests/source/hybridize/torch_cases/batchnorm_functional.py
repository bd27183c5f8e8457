# breaks: none
# says: to_graph safe

import torch


def f(x, running_mean, running_var, momentum: float = 0.1):
    mean = x.mean(0)
    var = x.var(0, unbiased=False)
    with torch.no_grad():
        running_mean.mul_(1 - momentum).add_(momentum * mean)
        running_var.mul_(1 - momentum).add_(momentum * var)
    return (x - mean) / (var + 1e-5).sqrt()


def args():
    return torch.randn(4, 2), torch.zeros(2), torch.ones(2)


if __name__ == "__main__":
    f(*args())
