# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.norm = nn.LayerNorm(4)
        self.pos = nn.Parameter(torch.zeros(3, 4))

    def forward(self, ids):
        return self.norm(self.emb(ids) + self.pos[: ids.shape[1]])


f = Net()


def args():
    return (torch.randint(0, 10, (2, 3)),)


if __name__ == "__main__":
    f(*args())
