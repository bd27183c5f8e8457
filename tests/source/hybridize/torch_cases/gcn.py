# function: GCN.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class GCN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.w1, self.w2 = nn.Linear(i, h), nn.Linear(h, o)

    def forward(self, x, edge_index):
        n = x.shape[0]
        adj = torch.zeros(n, n, device=x.device)
        adj[edge_index[0], edge_index[1]] = 1.0
        adj += torch.eye(n)
        deg = adj.sum(1).pow(-0.5)
        adj = deg[:, None] * adj * deg[None, :]
        return adj @ self.w2(torch.relu(adj @ self.w1(x)))


f = GCN(3, 4, 2)


def args():
    return torch.randn(4, 3), torch.tensor([[0, 1], [1, 2]])
