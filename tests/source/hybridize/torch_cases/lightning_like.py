# function: Lit.training_step
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Lit(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.logged = {}

    def log(self, name, value):
        self.logged[name] = value

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss.detach())
        return loss


lit = Lit()
f = lit.training_step


def args():
    return (torch.randn(2, 4), torch.tensor([0, 1])), 0
