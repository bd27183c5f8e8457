# function: Siamese.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 16, 4))
        self.head = nn.Linear(8, 1)
        self.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        out = self.net(x)
        return out.view(out.size()[0], -1)

    def forward(self, a, b):
        o = torch.cat((self.forward_once(a), self.forward_once(b)), 1)
        return torch.sigmoid(self.head(o))


f = Siamese()


def args():
    return torch.randn(2, 1, 6, 6), torch.randn(2, 1, 6, 6)
