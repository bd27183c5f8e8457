# function: Model.forward
# breaks: none
# says: to_graph safe-if

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple | None = None


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.head = nn.Linear(4, 3)

    def forward(self, x, labels=None, output_hidden_states=False, return_dict=True):
        hidden = () if output_hidden_states else None
        for layer in self.layers:
            if output_hidden_states:
                hidden = hidden + (x,)
            x = layer(x)
        logits = self.head(x)
        loss = None
        if labels is not None:
            loss = nn.CrossEntropyLoss()(logits.view(-1, 3), labels.view(-1))
        if not return_dict:
            return (loss, logits)
        return Output(logits=logits, loss=loss, hidden=hidden)


f = Model()


def args():
    return torch.randn(2, 4), torch.tensor([0, 1])
