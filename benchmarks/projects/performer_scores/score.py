"""Perplexity of texts under a Performer language model."""

import torch
import torch.nn.functional as F
from performer_pytorch import PerformerLM
from torch.utils.data import DataLoader, TensorDataset


def build_model():
    model = PerformerLM(num_tokens=2000, max_seq_len=256, dim=128, depth=2, heads=4, causal=False)
    model.eval()
    return model


@torch.no_grad()
def score(model, loader):
    losses = []
    for (tokens,) in loader:
        logits = model(tokens)
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
        losses.append(loss)
    return torch.stack(losses).mean().exp()


def main():
    texts = torch.randint(0, 2000, (128, 256))
    loader = DataLoader(TensorDataset(texts), batch_size=4)
    model = build_model()
    print("perplexity", score(model, loader).item())


if __name__ == "__main__":
    main()
