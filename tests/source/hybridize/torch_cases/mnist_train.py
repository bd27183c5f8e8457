# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR156 STR158 STR161 STR167

import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)


def f(train_loader, epoch, log_interval=10):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = F.log_softmax(model(data), dim=1)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % log_interval == 0:
            print(f"Train Epoch: {epoch} Loss: {loss.item():.6f}")


def args():
    return ([(torch.randn(2, 4), torch.tensor([0, 1]))], 1)
