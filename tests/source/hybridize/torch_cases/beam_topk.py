# breaks: none
# says: to_graph safe-if

import torch


def f(logp, beams: int = 2):
    scores, idx = logp.flatten().topk(beams)
    rows = torch.div(idx, logp.size(1), rounding_mode="floor")
    cols = idx % logp.size(1)
    return scores, rows, cols


def args():
    return (torch.randn(3, 4),)
