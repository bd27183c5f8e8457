# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:
    if flag:
        return x + 1
    return x - 1


def args():
    return torch.randn(4), torch.tensor(True)
