"""Architectures of `transformers` with tiny configurations and random weights, whole, through both doors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from frontend.beside import DOORS, check, eager

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 99,
    "max_position_embeddings": 64,
}  # fmt: skip
PIXELS = {k: v for k, v in SIZES.items() if k not in ("vocab_size", "max_position_embeddings")}


def words(*shape: int) -> Tensor:
    return torch.randint(3, 99, shape)


def make(name: str, config: dict[str, Any], **inputs: Any) -> tuple[nn.Module, dict[str, Any]]:
    """`BertModel` of a `BertConfig`."""
    kind = getattr(transformers, name)
    return kind(kind.config_class(**config)), inputs


NO_CACHE = {"use_cache": False}
QUICK: dict[str, Callable[[], tuple[nn.Module, dict[str, Any]]]] = {
    "bert": lambda: make(
        "BertModel", SIZES, input_ids=words(2, 7), attention_mask=torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    ),
    "llama": lambda: make("LlamaForCausalLM", {**SIZES, "num_key_value_heads": 2}, input_ids=words(2, 11), **NO_CACHE),
    "deberta": lambda: make(
        "DebertaV2Model",
        {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
        input_ids=words(2, 7),
    ),
    "mamba": lambda: make(
        "MambaModel", {"hidden_size": 16, "num_hidden_layers": 1, "vocab_size": 99, "state_size": 4},
        input_ids=words(1, 6), **NO_CACHE,
    ),
    "vit": lambda: make("ViTModel", {**PIXELS, "image_size": 30, "patch_size": 6}, pixel_values=torch.randn(2, 3, 30, 30)),
}  # fmt: skip
LONG: dict[str, Callable[[], tuple[nn.Module, dict[str, Any]]]] = {
    "t5": lambda: make(
        "T5Model", {"d_model": 32, "d_ff": 48, "d_kv": 8, "num_heads": 4, "num_layers": 1, "vocab_size": 99},
        input_ids=words(2, 7), decoder_input_ids=words(2, 5), **NO_CACHE,
    ),
    "convnext": lambda: make(
        "ConvNextModel", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}, pixel_values=torch.randn(1, 3, 64, 64)
    ),
    "swin": lambda: make(
        "SwinModel",
        {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4},
        pixel_values=torch.randn(1, 3, 32, 32),
    ),
    "wav2vec2": lambda: make(
        "Wav2Vec2Model",
        {
            **PIXELS, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
        },
        input_values=torch.randn(1, 800),
    ),
    "mobilevit": lambda: make(
        "MobileViTModel",
        {
            "image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 12, 16, 16, 16, 32],
            "num_attention_heads": 2,
        },
        pixel_values=torch.randn(1, 3, 64, 64),
    ),
}  # fmt: skip
CASES = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, door: str) -> None:
    torch.manual_seed(0)
    model, inputs = {**QUICK, **LONG}[name]()
    assert not eager(check(door, model.eval(), (), kwargs=inputs, threads=2))
