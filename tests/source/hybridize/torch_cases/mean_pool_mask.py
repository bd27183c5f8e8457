# breaks: none
# says: to_graph safe-if

import torch


def f(hidden, attention_mask):
    m = attention_mask.unsqueeze(-1).expand(hidden.size()).float()
    return (hidden * m).sum(1) / m.sum(1).clamp(min=1e-9)


def args():
    return torch.randn(2, 5, 3), torch.ones(2, 5, dtype=torch.long)
