"""Whole models with what real ones have: a few channels a thousand times larger than the others, unscaled counts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from numerics.judge import FACTOR, Judge, in_double


class Logits(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        found: Tensor = self.model(input_ids=ids, use_cache=False).logits
        return found


def llama() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=192, intermediate_size=512, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, vocab_size=128,
    )  # fmt: skip
    return Logits(_with_outliers(transformers.LlamaForCausalLM(config), "embed_tokens", "down_proj"))


def gpt2() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=192, n_layer=2, n_head=6, vocab_size=128, n_positions=64)
    return Logits(_with_outliers(transformers.GPT2LMHeadModel(config), "wte", "mlp.c_proj"))


def _with_outliers(model: nn.Module, embedding: str, down: str) -> nn.Module:
    """Three channels of the hidden state between 10³ and 10⁴ times as large, which norms' weights scale back."""
    channels, sizes = [7, 90, 150], torch.tensor([1e3, 1e4, 3e3])
    with torch.no_grad():
        for name, module in model.named_modules():
            weight = getattr(module, "weight", None)
            if name.endswith(embedding):
                weight[:, channels] *= sizes
            elif name.endswith(down):
                if weight.shape[0] == 192:
                    weight[channels] *= sizes[:, None]
                else:
                    weight[:, channels] *= sizes
            elif weight is not None and weight.dim() == 1:
                weight[channels] /= sizes
    return model


class Recommender(nn.Module):
    """Counts as they come (0 to 10⁶) and sums of embeddings, a product of both, a score."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bag = nn.EmbeddingBag(1000, 32, mode="sum")
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(65, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        a, b = self.bottom(dense), self.bag(ids)
        found: Tensor = self.top(torch.cat([a, b, (a * b).sum(-1, keepdim=True)], -1))
        return found


def check(judge: Judge, name: str, model: nn.Module, fast: Any, args: tuple[Tensor, ...]) -> None:
    with torch.no_grad():
        exact = in_double(model)(*(a.double() if a.is_floating_point() else a for a in args))
        errors = [(found.double() - exact).abs() for found in (model(*args), fast(*args))]
    assert float(errors[1].max()) <= FACTOR * float(errors[0].max())
    assert float(errors[1].square().mean()) <= FACTOR**2 * float(errors[0].square().mean())
    judge.cases.add(name)


@pytest.mark.parametrize("make", [llama, gpt2], ids=lambda make: make.__name__)
@pytest.mark.parametrize("threads", [1, 2])
def test_language_model_with_outlier_channels(default_judge: Judge, make: Any, threads: int) -> None:
    ids = torch.randint(128, (2, 24), generator=torch.Generator().manual_seed(0))
    model, fast = default_judge.compiled(make.__name__, make, (ids,), threads)
    for seed in range(3):
        check(
            default_judge,
            "language models",
            model,
            fast,
            (torch.randint(128, (2, 24), generator=torch.Generator().manual_seed(seed)),),
        )


def test_recommender_with_unscaled_counts(default_judge: Judge) -> None:
    def inputs(seed: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        counts = (10 ** (6 * torch.rand(64, 13, generator=generator))).floor()
        return counts * (torch.rand(64, 13, generator=generator) < 0.7), torch.randint(
            1000, (64, 20), generator=generator
        )

    model, fast = default_judge.compiled("recommender", Recommender, inputs(0))
    for seed in range(5):
        check(default_judge, "recommender", model, fast, inputs(seed))
