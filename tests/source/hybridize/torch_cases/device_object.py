# breaks: none
# says: to_graph safe

import torch


def f(x):
    d = torch.device("cpu")
    return x.to(d) + torch.zeros(3, device=x.device, dtype=x.dtype)


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
