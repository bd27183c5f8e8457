# function: Conv.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Conv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(2 * i, o)

    def message(self, xi, xj):
        return self.lin(torch.cat([xi, xj - xi], -1))

    def aggregate(self, m, index, n):
        out = m.new_zeros(n, m.size(-1))
        return out.scatter_reduce(0, index[:, None].expand_as(m), m, reduce="amax", include_self=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        return self.aggregate(self.message(x[dst], x[src]), dst, x.size(0))


f = Conv(3, 4)


def args():
    return torch.randn(4, 3), torch.tensor([[0, 1], [1, 2]])
