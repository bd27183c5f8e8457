"""Recommenders at batch 1: many table lookups and small dense layers, where overhead per operator decides."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from strop.zoo.weights import indices, noise, randomize

Example = tuple[nn.Module, tuple[Tensor, ...]]
TABLES = 26
ROWS = 10_000
DENSE = 13


def _mlp(*widths: int, last: bool = True) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[: None if last else -1])


class DotInteraction(nn.Module):
    """DLRM (Naumov et al. 2019): bags of embeddings, pairwise dot products, two MLPs."""

    rows: Tensor
    columns: Tensor

    def __init__(self, width: int = 32):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, width, mode="sum") for _ in range(TABLES))
        self.bottom = _mlp(DENSE, 512, 256, width)
        pairs = (TABLES + 1) * TABLES // 2
        self.top = _mlp(pairs + width, 512, 256, 1, last=False)
        rows, columns = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        features = torch.stack([x, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        return torch.sigmoid(self.top(torch.cat((x, products[:, self.rows, self.columns]), dim=1)))


class WideAndDeep(nn.Module):
    """A linear model over sparse features beside an MLP over their embeddings (Cheng et al. 2016), up to the logit."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.wide = nn.ModuleList(nn.Embedding(ROWS, 1) for _ in range(TABLES))
        self.wide_dense = nn.Linear(DENSE, 1)
        self.deep = nn.ModuleList(nn.Embedding(ROWS, width) for _ in range(TABLES))
        self.mlp = _mlp(TABLES * width + DENSE, 1024, 512, 256)
        self.out = nn.Linear(256, 1)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        columns = sparse.unbind(1)
        wide = self.wide_dense(dense)
        for table, column in zip(self.wide, columns, strict=True):
            wide = wide + table(column)
        embedded = [table(column) for table, column in zip(self.deep, columns, strict=True)]
        deep = self.out(self.mlp(torch.cat((dense, *embedded), dim=1)))
        logit: Tensor = wide + deep
        return logit


def dlrm() -> Example:
    """A DLRM-like network: 26 bags of 4 lookups, 32 wide."""
    inputs = (noise(1, DENSE), indices(ROWS, 1, TABLES, 4))
    return randomize(DotInteraction(), inputs), inputs


def wide_deep() -> Example:
    """Wide-and-deep: 26 categories, 16 wide, an MLP of 1024-512-256."""
    inputs = (noise(1, DENSE), indices(ROWS, 1, TABLES))
    return randomize(WideAndDeep(), inputs), inputs
