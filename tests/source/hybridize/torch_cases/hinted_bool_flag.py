# breaks: none
# says: to_graph safe

import torch


def f(x: torch.Tensor, flag: bool) -> torch.Tensor:
    if flag:
        return x + 1
    return x - 1


def args():
    return torch.randn(4), True


if __name__ == "__main__":
    f(*args())
