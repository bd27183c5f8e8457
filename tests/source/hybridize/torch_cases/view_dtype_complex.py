# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.view_as_real(torch.view_as_complex(x) * 2).abs().to(torch.int32).bool().any(-1)


def args():
    return (torch.randn(3, 2),)


if __name__ == "__main__":
    f(*args())
