# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


cl = ContentLoss(torch.randn(1, 2, 3, 3))


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


def f(x):
    y = cl(x)
    return gram_matrix(y) + cl.loss


def args():
    return (torch.randn(1, 2, 3, 3),)
