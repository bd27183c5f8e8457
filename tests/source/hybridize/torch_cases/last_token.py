# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(hidden, attention_mask):
    left = attention_mask[:, -1].sum() == attention_mask.shape[0]
    if left:
        return hidden[:, -1]
    lens = attention_mask.sum(1) - 1
    return hidden[torch.arange(hidden.shape[0]), lens]


def args():
    return torch.randn(2, 5, 3), torch.ones(2, 5, dtype=torch.long)
