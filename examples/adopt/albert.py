"""An ALBERT-like encoder: one set of weights for all layers, factorised embeddings, the tanh form of GELU."""

import math

import torch
from torch import nn
from torch.optim import AdamW


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class AlbertAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.attention_dropout = nn.Dropout(dropout)
        self.output_dropout = nn.Dropout(dropout)
        self.LayerNorm = nn.LayerNorm(hidden_size, eps=1e-12)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, mask):
        q, k, v = (
            self.split(self.query(hidden_states)),
            self.split(self.key(hidden_states)),
            self.split(self.value(hidden_states)),
        )
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.head_size)
        scores = scores + mask
        probs = self.attention_dropout(torch.softmax(scores, dim=-1))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).flatten(2)
        projected = self.output_dropout(self.dense(context))
        return self.LayerNorm(hidden_states + projected)


class AlbertLayer(nn.Module):
    def __init__(self, hidden_size, intermediate_size, num_heads, dropout):
        super().__init__()
        self.attention = AlbertAttention(hidden_size, num_heads, dropout)
        self.ffn = nn.Linear(hidden_size, intermediate_size)
        self.ffn_output = nn.Linear(intermediate_size, hidden_size)
        self.full_layer_norm = nn.LayerNorm(hidden_size, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden_states, mask):
        attended = self.attention(hidden_states, mask)
        x = self.ffn(attended)
        x = gelu_new(x)
        x = self.dropout(self.ffn_output(x))
        return self.full_layer_norm(x + attended)


class Albert(nn.Module):
    def __init__(self, vocab_size=30000, embedding_size=64, hidden_size=256, layers=4, heads=4, intermediate_size=1024):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_size)
        self.position_embeddings = nn.Embedding(512, embedding_size)
        self.norm = nn.LayerNorm(embedding_size, eps=1e-12)
        self.embedding_hidden_mapping_in = nn.Linear(embedding_size, hidden_size)
        self.layer = AlbertLayer(hidden_size, intermediate_size, heads, dropout=0.1)
        self.num_hidden_layers = layers
        self.decoder_dense = nn.Linear(hidden_size, embedding_size)
        self.classifier = nn.Linear(embedding_size, 2)

    def forward(self, input_ids, attention_mask):
        mask = (1.0 - attention_mask[:, None, None, :]) * torch.finfo(torch.float32).min
        positions = torch.arange(input_ids.size(1), device=input_ids.device)[None]
        x = self.norm(self.word_embeddings(input_ids) + self.position_embeddings(positions))
        x = self.embedding_hidden_mapping_in(x)
        for _ in range(self.num_hidden_layers):
            x = self.layer(x, mask)
        return self.classifier(gelu_new(self.decoder_dense(x[:, 0])))


def make_model():
    return Albert()


def make_batch(batch_size=8, length=64):
    mask = torch.ones(batch_size, length)
    mask[0, length - 4 :] = 0
    return (torch.randint(0, 30000, (batch_size, length)), mask), torch.randint(0, 2, (batch_size,))


def make_optimizer(model):
    return AdamW(model.parameters(), lr=1e-4, eps=1e-6)


def loss_of(model, batch):
    inputs, labels = batch
    return nn.CrossEntropyLoss()(model(*inputs), labels)


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
