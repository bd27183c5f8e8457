# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


@torch.no_grad()
def f(logits, temperature: float = 1.0):
    probs = F.softmax(logits / temperature, dim=-1)
    return torch.multinomial(probs, 1)


def args():
    return (torch.randn(2, 5),)
