# breaks: Dynamic slicing with Tensor arguments (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x: torch.Tensor, n: torch.Tensor):
    return x[:n]


def args():
    return torch.randn(4), torch.tensor(2)


if __name__ == "__main__":
    f(*args())
