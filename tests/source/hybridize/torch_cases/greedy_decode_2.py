# function: Dec.generate
# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch
import torch.nn as nn


class Dec(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 8)
        self.o = nn.Linear(8, 10)

    def generate(self, ids, n=3):
        for _ in range(n):
            logits = self.o(self.e(ids).mean(1))
            nxt = logits.argmax(-1, keepdim=True)
            ids = torch.cat([ids, nxt], dim=1)
            if (nxt == 0).all():
                break
        return ids


dec = Dec()
f = dec.generate


def args():
    return (torch.randint(1, 10, (2, 3)),)
