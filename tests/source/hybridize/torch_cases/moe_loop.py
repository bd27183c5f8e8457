# function: MoE.forward
# breaks: Not captured as one graph
# says: keep unsafe STR155 STR157

import torch
import torch.nn as nn


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        w, idx = self.gate(x).softmax(-1).topk(1, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            sel = (idx == e).any(-1)
            if sel.any():
                out[sel] = expert(x[sel]) * w[sel]
        return out


f = MoE()


def args():
    return (torch.randn(5, 4),)
