# breaks: Not captured as one graph (not with fullgraph=True)
# says: keep unsafe STR156

import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)


def f(loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.cross_entropy(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return test_loss, correct


def args():
    return ([(torch.randn(2, 4), torch.tensor([0, 1]))],)
