# function: Net.forward
# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.gate = nn.Linear(4, 2)

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        idx = w.mean(0).argmax().item()
        return self.experts[idx](x)


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
