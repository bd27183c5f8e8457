# breaks: none
# says: to_graph safe

import torch


def f(step: torch.Tensor, total: int):
    return 0.5 * (1 + torch.cos(torch.pi * step / total))


def args():
    return torch.tensor(3.0), 10
