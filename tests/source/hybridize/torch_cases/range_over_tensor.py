# breaks: Failed to trace builtin operator
# says: keep unsafe STR156

import torch


def f(x: torch.Tensor, n: torch.Tensor):
    for i in range(n):
        x = x + i
    return x


def args():
    return torch.rand(4), torch.tensor(3)


if __name__ == "__main__":
    f(*args())
