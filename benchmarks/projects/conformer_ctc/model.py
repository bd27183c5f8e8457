"""A speech recogniser: two strided convolutions, a Conformer, a layer of letters."""

import torch.nn as nn
from conformer import Conformer


class Recognizer(nn.Module):
    def __init__(self, mels=80, dim=144, depth=2, letters=32):
        super().__init__()
        self.subsample = nn.Sequential(
            nn.Conv1d(mels, dim, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(dim, dim, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.encoder = Conformer(dim=dim, depth=depth, dim_head=36, heads=4)
        self.head = nn.Linear(dim, letters)

    def forward(self, features):
        x = self.subsample(features).transpose(1, 2)
        x = self.encoder(x)
        return self.head(x).log_softmax(-1)
