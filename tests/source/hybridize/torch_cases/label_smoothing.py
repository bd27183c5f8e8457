# function: LabelSmoothing.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class LabelSmoothing(nn.Module):
    def __init__(self, classes, smoothing=0.1):
        super().__init__()
        self.conf = 1.0 - smoothing
        self.smoothing = smoothing
        self.cls = classes

    def forward(self, pred, target):
        pred = pred.log_softmax(dim=-1)
        with torch.no_grad():
            true = torch.zeros_like(pred)
            true.fill_(self.smoothing / (self.cls - 1))
            true.scatter_(1, target.data.unsqueeze(1), self.conf)
        return torch.mean(torch.sum(-true * pred, dim=-1))


f = LabelSmoothing(3)


def args():
    return torch.randn(2, 3), torch.tensor([0, 2])


if __name__ == "__main__":
    f(*args())
