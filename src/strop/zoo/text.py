"""Language models, built by `transformers` from configurations with random weights (nothing is downloaded)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from strop.core.problem import Problem
from strop.zoo.weights import indices, randomize

Example = tuple[nn.Module, tuple[Tensor, ...]]


class HiddenStates(nn.Module):
    """An encoder whose answer is one tensor."""

    def __init__(self, encoder: nn.Module):
        super().__init__()
        self.encoder = encoder

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden: Tensor = self.encoder(input_ids=tokens, attention_mask=mask, return_dict=False)[0]
        return hidden


class NextToken(nn.Module):
    """A decoder that reads a prompt and scores the token after it."""

    def __init__(self, decoder: nn.Module):
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.decoder(input_ids=tokens, use_cache=False, logits_to_keep=1, return_dict=False)[0]
        return logits


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as missing:
        raise Problem(
            "STR004",
            "this network is built by `transformers`, which is not installed",
            help="install the peers and models of the benchmark: pip install 'strop[bench]'",
        ) from missing
    return transformers


def _bert(**sizes: int) -> Example:
    transformers = _transformers()
    config = transformers.BertConfig(**sizes)
    model = HiddenStates(transformers.BertModel(config, add_pooling_layer=False).float())
    tokens = indices(config.vocab_size, 1, 128)
    mask = tokens.new_ones(1, 128)
    mask[:, 112:] = 0
    return randomize(model, (tokens, mask)), (tokens, mask)


def bert_base() -> Example:
    """BERT-base (Devlin et al. 2018): 12 layers, 768 wide, 128 tokens of which 16 are padding."""
    return _bert()


def bert_small() -> Example:
    """A BERT of 6 layers, 384 wide, 12 heads (the shape of MiniLM-L6), 128 tokens of which 16 are padding."""
    return _bert(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)


def gpt2() -> Example:
    """GPT-2 (124 M parameters) reading a prompt of 128 tokens."""
    transformers = _transformers()
    model = NextToken(transformers.GPT2LMHeadModel(transformers.GPT2Config()).float())
    tokens = indices(50257, 1, 128)
    return randomize(model, (tokens,)), (tokens,)
