# function: Tagger.forward
# breaks: Not captured as one graph
# says: keep unsafe STR168

import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 8)
        self.rnn = nn.LSTM(8, 16, batch_first=True)
        self.fc = nn.Linear(16, 5)

    def forward(self, ids):
        out, (h, c) = self.rnn(self.emb(ids))
        return self.fc(out)


f = Tagger()


def args():
    return (torch.randint(0, 50, (2, 7)),)
