"""Training at small sizes under the judge of `benchmarks/training_judge.py`: gradients against float64, losses over
steps. The sizes that count are in docs/training.md."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from decided_networks import decided, decisions
from torch import nn
from training_judge import WANTED, apart, judge_gradients, judge_losses, without_kinks
from training_networks import Training

from strop.zoo.sequence import Recurrent

STEPS = 12
#: of all elements, that may be over four times eager's error at their place: as many may be by chance
SHARE = 1e-4
#: of eager's loss
TOLERANCE = 1e-4


def classes(model: nn.Module, inputs: torch.Tensor, count: int, *shape: int) -> Training:
    wanted = torch.randint(count, shape)
    loss = lambda scores: F.cross_entropy(scores.reshape(-1, count), wanted.reshape(-1))  # noqa: E731
    return Training(model, (inputs,), loss)


def mlp() -> Training:
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 5))
    return classes(model, torch.randn(16, 20), 5, 16)


def lstm() -> Training:
    return classes(Recurrent(6, 16, 2, 5), torch.randn(3, 7, 6), 5, 3, 7)


def transformer() -> Training:
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return classes(nn.Sequential(layer, nn.Linear(16, 5)), torch.randn(2, 9, 16), 5, 2, 9)


def convolutions() -> Training:
    layers = [nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8),
              nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 16, 1), nn.BatchNorm2d(16), nn.MaxPool2d(2), nn.Flatten(),
              nn.Linear(16 * 16, 5)]  # fmt: skip
    return classes(nn.Sequential(*layers), torch.randn(4, 3, 16, 16), 5, 4)


NETWORKS = {"mlp": mlp, "lstm": lstm, "transformer": transformer, "convolutions": convolutions}


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_as_exact_as_eager(name: str) -> None:
    torch.manual_seed(0)
    with without_kinks():
        found_exact(NETWORKS[name]())


def test_gradients_through_kinks_are_as_exact_as_eager_where_no_value_lies_at_one() -> None:
    torch.manual_seed(0)
    training = decided(convolutions())
    model, inputs = training.model, training.inputs
    exact = decisions(copy.deepcopy(model).double(), [x.double() for x in inputs])
    assert len(exact) == 3 and all(map(torch.equal, decisions(model, inputs), exact))
    assert any(name.startswith("move_") and buffer.any() for name, buffer in model.named_buffers())
    found_exact(training)


def found_exact(training: Training) -> None:
    errors = judge_gradients(training)
    assert errors.strop <= max(WANTED, 4 * errors.eager)  # in front of another norm a gradient may cancel to nothing
    assert errors.ratio <= 4 and errors.rms <= 4
    assert errors.strop_elements.over <= 1 + SHARE * errors.strop_elements.elements
    assert not errors.reasons


@pytest.mark.parametrize("optimiser", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", ["mlp", "convolutions"])
def test_losses_follow_eager(name: str, optimiser: str) -> None:
    torch.manual_seed(0)
    eager, _, strop = judge_losses(NETWORKS[name](), optimiser, STEPS)
    assert eager[-1] != eager[0]
    assert apart(strop, eager) <= TOLERANCE
