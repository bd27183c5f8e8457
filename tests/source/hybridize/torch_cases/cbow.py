# function: CBOW.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class CBOW(nn.Module):
    def __init__(self, vocab=30, dim=6):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.linear1 = nn.Linear(dim, 16)
        self.linear2 = nn.Linear(16, vocab)

    def forward(self, inputs):
        embeds = sum(self.embeddings(inputs)).view(1, -1)
        out = torch.relu(self.linear1(embeds))
        return torch.log_softmax(self.linear2(out), dim=1)


f = CBOW()


def args():
    return (torch.tensor([1, 2, 3]),)
