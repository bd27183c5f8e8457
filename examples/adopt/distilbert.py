"""A DistilBERT-like encoder: fewer layers, the mask filled in, the loss written out."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, HIDDEN, VOCAB = 256, 4, 3, 1024, 30522


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB, DIM, padding_idx=0)
        self.position_embeddings = nn.Embedding(512, DIM)
        self.LayerNorm = nn.LayerNorm(DIM, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.size(1), dtype=torch.long, device=input_ids.device)
        position_ids = position_ids.unsqueeze(0).expand_as(input_ids)
        embeddings = self.word_embeddings(input_ids) + self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(embeddings))


class MultiHeadSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_heads = HEADS
        self.dropout = nn.Dropout(p=0.1)
        self.q_lin = nn.Linear(in_features=DIM, out_features=DIM)
        self.k_lin = nn.Linear(in_features=DIM, out_features=DIM)
        self.v_lin = nn.Linear(in_features=DIM, out_features=DIM)
        self.out_lin = nn.Linear(in_features=DIM, out_features=DIM)

    def forward(self, query, key, value, mask):
        bs, _, dim = query.size()
        dim_per_head = dim // self.n_heads

        def shape(x):
            return x.view(bs, -1, self.n_heads, dim_per_head).transpose(1, 2)

        def unshape(x):
            return x.transpose(1, 2).contiguous().view(bs, -1, self.n_heads * dim_per_head)

        q = shape(self.q_lin(query))
        k = shape(self.k_lin(key))
        v = shape(self.v_lin(value))

        q = q / math.sqrt(dim_per_head)
        scores = torch.matmul(q, k.transpose(2, 3))
        scores = scores.masked_fill(mask, -1e9)
        weights = nn.functional.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        context = torch.matmul(weights, v)
        return self.out_lin(unshape(context))


class FFN(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(p=0.1)
        self.lin1 = nn.Linear(DIM, HIDDEN)
        self.lin2 = nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        x = self.lin1(x)
        x = gelu(x)
        x = self.lin2(x)
        return self.dropout(x)


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = MultiHeadSelfAttention()
        self.sa_layer_norm = nn.LayerNorm(DIM, eps=1e-12)
        self.ffn = FFN()
        self.output_layer_norm = nn.LayerNorm(DIM, eps=1e-12)

    def forward(self, x, mask):
        x = self.sa_layer_norm(self.attention(x, x, x, mask) + x)
        return self.output_layer_norm(self.ffn(x) + x)


class DistilBertForSequenceClassification(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.layer = nn.ModuleList([TransformerBlock() for _ in range(LAYERS)])
        self.pre_classifier = nn.Linear(DIM, DIM)
        self.classifier = nn.Linear(DIM, 2)
        self.dropout = nn.Dropout(0.2)

    def forward(self, input_ids, attention_mask):
        mask = (attention_mask == 0)[:, None, None, :]
        x = self.embeddings(input_ids)
        for block in self.layer:
            x = block(x, mask)
        pooled = torch.relu(self.pre_classifier(x[:, 0]))
        return self.classifier(self.dropout(pooled))


def make_model():
    return DistilBertForSequenceClassification()


def make_batch(batch_size=8, length=64):
    ids = torch.randint(1, VOCAB, (batch_size, length))
    mask = torch.ones(batch_size, length)
    mask[0, length - 5 :] = 0
    return (ids, mask), torch.randint(0, 2, (batch_size,))


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=5e-5)


def loss_of(model, batch):
    inputs, labels = batch
    log_probs = F.log_softmax(model(*inputs), dim=-1)
    return F.nll_loss(log_probs, labels)


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
