# function: CRF.forward
# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch
import torch.nn as nn


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


def log_sum_exp(vec):
    max_score = vec[0, argmax(vec)]
    return max_score + torch.log(torch.sum(torch.exp(vec - max_score)))


class CRF(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(n, n))
        self.n = n

    def forward(self, feats):
        alpha = torch.zeros(1, self.n)
        for feat in feats:
            nxt = []
            for tag in range(self.n):
                nxt.append(log_sum_exp(alpha + self.trans[tag].view(1, -1) + feat[tag]).view(1))
            alpha = torch.cat(nxt).view(1, -1)
        return log_sum_exp(alpha)


f = CRF()


def args():
    return (torch.randn(4, 3),)
