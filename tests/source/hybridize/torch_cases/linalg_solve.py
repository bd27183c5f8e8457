# breaks: none
# says: to_graph safe-if

import torch


def f(A, b):
    L = torch.linalg.cholesky(A @ A.mT + torch.eye(A.size(0)))
    return torch.cholesky_solve(b.unsqueeze(-1), L).squeeze(-1)


def args():
    return torch.randn(3, 3), torch.randn(3)
