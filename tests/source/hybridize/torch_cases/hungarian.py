# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import torch
from scipy.optimize import linear_sum_assignment


def f(cost):
    rows, cols = linear_sum_assignment(cost.detach().cpu().numpy())
    return cost[torch.as_tensor(rows), torch.as_tensor(cols)].sum()


def args():
    return (torch.rand(3, 3),)
