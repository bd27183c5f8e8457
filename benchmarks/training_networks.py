"""The networks whose training steps are measured: each yields a model, a batch and a loss, at sizes for two cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strop import zoo
from strop.zoo.dense import UNet
from strop.zoo.recommend import DENSE, ROWS, TABLES, DotInteraction
from strop.zoo.sequence import Recurrent
from strop.zoo.vision import VisionTransformer


@dataclass(frozen=True)
class Training:
    """A model, one batch of inputs, and the loss of what the model returns."""

    model: nn.Module
    inputs: tuple[Tensor, ...]
    loss: Callable[[Any], Tensor]

    @property
    def is_image(self) -> bool:
        """Whether there is a channels-last form of it."""
        return self.inputs[0].ndim == 4


def classes(count: int, *shape: int) -> Callable[[Any], Tensor]:
    wanted = torch.randint(count, shape)
    return lambda scores: F.cross_entropy(scores.reshape(-1, count), wanted.reshape(-1))


def _images(name: str, batch: int, size: int, seed: int = 0) -> Training:
    torch.manual_seed(seed)
    return Training(
        zoo.load(name)[0].train().requires_grad_(), (torch.randn(batch, 3, size, size),), classes(1000, batch)
    )


def mlp() -> Training:
    layers = (nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 10))
    return Training(nn.Sequential(*layers), (torch.randn(128, 784),), classes(10, 128))


def dlrm() -> Training:
    inputs = torch.randn(256, DENSE), torch.randint(ROWS, (256, TABLES, 4))
    wanted = torch.rand(256, 1).round()
    return Training(DotInteraction(), inputs, lambda scores: F.binary_cross_entropy(scores, wanted.to(scores.dtype)))


def lstm() -> Training:
    return Training(Recurrent(), (torch.randn(16, 64, 128),), classes(64, 16, 64))


class _Classifier(nn.Module):
    def __init__(self, encoder: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=tokens, return_dict=False)[0]
        scores: Tensor = self.head(hidden[:, 0])
        return scores


class _Logits(nn.Module):
    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.decoder(input_ids=tokens, use_cache=False, return_dict=False)[0]
        return logits


def bert_small() -> Training:
    import transformers

    config = transformers.BertConfig(
        hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536, vocab_size=8000
    )
    encoder = transformers.BertModel(config, add_pooling_layer=False)
    return Training(_Classifier(encoder, 384, 4).train(), (torch.randint(8000, (8, 128)),), classes(4, 8))


def gpt2_4_layers() -> Training:
    import transformers

    config = transformers.GPT2Config(n_layer=4, n_positions=256)
    tokens = torch.randint(config.vocab_size, (2, 128))
    model = _Logits(transformers.GPT2LMHeadModel(config)).train()
    return Training(model, (tokens,), classes(config.vocab_size, 2, 128))


def vit_small() -> Training:
    return Training(VisionTransformer(384, 6, 6), (torch.randn(4, 3, 224, 224),), classes(1000, 4))


def resnet18() -> Training:
    return _images("resnet18", 4, 128)


def unet() -> Training:
    wanted = torch.rand(2, 1, 128, 128).round()

    def loss(scores: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(scores, wanted.to(scores.dtype).expand_as(scores))

    return Training(UNet(), (torch.randn(2, 3, 128, 128),), loss)


def mobilenet_v2() -> Training:
    return _images("mobilenet_v2", 4, 128)


def efficientnet_b0() -> Training:
    return _images("efficientnet_b0", 4, 128)


_ALL = (mlp, dlrm, lstm, bert_small, vit_small, resnet18, unet, mobilenet_v2, efficientnet_b0, gpt2_4_layers)
NETWORKS: dict[str, Callable[[], Training]] = {each.__name__: each for each in _ALL}


def network(name: str, seed: int = 0) -> Training:
    """One of these networks, or of those beside them."""
    from training_networks_more import MORE_NETWORKS
    from training_networks_others import OTHER_NETWORKS
    from training_networks_sequences import SEQUENCE_NETWORKS

    torch.manual_seed(seed)
    return {**NETWORKS, **MORE_NETWORKS, **OTHER_NETWORKS, **SEQUENCE_NETWORKS}[name]()
