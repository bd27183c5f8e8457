# function: Net.forward
# breaks: Attempted to wrap RNN, GRU, or LSTM
# says: keep unsafe STR168

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return y + h[-1].unsqueeze(1)


f = Net()


def args():
    return (torch.randn(2, 3, 4),)


if __name__ == "__main__":
    f(*args())
