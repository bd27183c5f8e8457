"""Sentiment of reviews with a bidirectional GRU and attention over its outputs."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB, MAX_LEN, BATCH = 8000, 80, 32


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.attn = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, outputs, mask):
        energy = torch.tanh(self.attn(outputs))
        scores = self.v(energy).squeeze(2)
        scores = scores.masked_fill(mask == 0, -1e10)
        weights = torch.softmax(scores, dim=1)
        return torch.bmm(weights.unsqueeze(1), outputs).squeeze(1)


class GRUClassifier(nn.Module):
    def __init__(self, vocab, emb=128, hidden=128, classes=2, dropout=0.3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, num_layers=2, bidirectional=True, batch_first=True, dropout=dropout)
        self.attention = Attention(hidden * 2)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden * 2, classes)

    def forward(self, text):
        mask = text != 0
        embedded = self.dropout(self.embedding(text))
        outputs, _ = self.gru(embedded)
        pooled = self.attention(outputs, mask)
        return self.fc(self.dropout(pooled))


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean()


def train(model, iterator, optimizer, criterion):
    epoch_loss, epoch_acc = 0, 0
    model.train()
    for text, label in iterator:
        optimizer.zero_grad()
        predictions = model(text)
        loss = criterion(predictions, label)
        acc = accuracy(predictions, label)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


if __name__ == "__main__":
    reviews = torch.randint(1, VOCAB, (1024, MAX_LEN))
    for row, length in enumerate(torch.randint(20, MAX_LEN, (1024,))):
        reviews[row, length:] = 0
    data = TensorDataset(reviews, torch.randint(0, 2, (1024,)))
    iterator = DataLoader(data, batch_size=BATCH, shuffle=True)
    model = GRUClassifier(VOCAB)
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        train_loss, train_acc = train(model, iterator, optimizer, criterion)
        print(f"Epoch {epoch + 1:02} | Train Loss: {train_loss:.3f} | Train Acc: {train_acc * 100:.2f}%")
