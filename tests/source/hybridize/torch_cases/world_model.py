# function: RSSM.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.prior = nn.Linear(6, 8)

    def forward(self, actions, state=None):
        T, B = actions.shape[:2]
        h = actions.new_zeros(B, 6) if state is None else state
        hs, zs = [], []
        for a in actions.unbind(0):
            h = self.cell(a, h)
            mean, std = torch.chunk(self.prior(h), 2, dim=-1)
            std = nn.functional.softplus(std) + 0.1
            zs.append(mean + std * torch.randn_like(std))
            hs.append(h)
        return torch.stack(hs), torch.stack(zs)


f = RSSM()


def args():
    return (torch.randn(3, 2, 4),)
