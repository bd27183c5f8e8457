"""Embed texts with BERT and keep the mean of their tokens."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertModel


def mean_pooling(hidden, mask):
    mask = mask.unsqueeze(-1).float()
    return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def embed_all(model, loader):
    embeddings = []
    with torch.no_grad():
        for tokens, mask in loader:
            output = model(input_ids=tokens, attention_mask=mask)
            pooled = mean_pooling(output.last_hidden_state, mask)
            embeddings.append(torch.nn.functional.normalize(pooled, dim=1))
    return torch.cat(embeddings)


if __name__ == "__main__":
    config = BertConfig(
        vocab_size=2000, hidden_size=192, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4
    )
    model = BertModel(config)
    model.eval()
    tokens = torch.randint(0, 2000, (256, 64))
    loader = DataLoader(TensorDataset(tokens, torch.ones_like(tokens)), batch_size=8)
    print(embed_all(model, loader).shape)
