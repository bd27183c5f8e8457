# function: Decoder.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, h=8, v=10):
        super().__init__()
        self.emb = nn.Embedding(v, h)
        self.gru = nn.GRUCell(h, h)
        self.out = nn.Linear(h, v)

    def forward(self, hidden, target=None, max_len=4):
        tok = torch.zeros(hidden.size(0), dtype=torch.long)
        outs = []
        for i in range(max_len):
            hidden = self.gru(F.relu(self.emb(tok)), hidden)
            logits = self.out(hidden)
            outs.append(logits)
            if target is not None:
                tok = target[:, i]
            else:
                tok = logits.topk(1)[1].squeeze(-1).detach()
        return torch.stack(outs, 1).log_softmax(-1)


f = Decoder()


def args():
    return (torch.randn(2, 8),)
