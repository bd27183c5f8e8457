"""Training of convolutional networks: what the halves of a step hand over, and how exact their algorithms are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from runtime.training import Images, Pair


def wide() -> nn.Sequential:
    """Convolutions that Winograd's algorithm computes; smooth, so that errors are those of rounding alone."""
    layers: list[nn.Module] = []
    for inputs in (16, 32, 32):
        layers += (nn.Conv2d(inputs, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.SiLU())
    return nn.Sequential(*layers, nn.Conv2d(32, 8, 1))


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
@pytest.mark.parametrize("half", ["forward", "backward"])
def test_either_half_may_run_eager(half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from strop.runtime import training

    build = training.TrainingPiece._build

    def failing(self: Any, graph: Any, threads: int) -> Any:
        if bool(self.results) == (half == "forward"):
            raise ValueError("no code for this half")
        return build(self, graph, threads)

    monkeypatch.setattr(training.TrainingPiece, "_build", failing)
    pair = Pair(Images())
    pair.step(torch.randn(2, 3, 12, 12))
    assert "no code for this half" in pair.reasons


def test_images_are_kept_channels_last_under_the_shapes_that_were_traced() -> None:
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor.contiguous()  # hooks may change strides

    pair, x = Pair(Images()), torch.randn(2, 3, 12, 12)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = pair.fast(x)
    for made in (result, pair.twin(x)):
        made.square().mean().backward()
    pair.compare()
    assert not pair.reasons
    images = [tensor for tensor in kept if tensor.shape[1:] == (8, 12, 12)]
    assert images and all(t.is_contiguous(memory_format=torch.channels_last) for t in images)


def test_gradients_through_winograd_are_as_exact_as_those_of_eager() -> None:
    torch.manual_seed(0)
    model, x = wide(), torch.randn(2, 16, 20, 20)
    exact = copy.deepcopy(model).double()
    exact(x.double()).square().mean().backward()
    pair = Pair(model, threads=1)
    pair.step(x)
    choices = " ".join(event.message for event in pair.journal.of("choice"))
    assert "Winograd F(2×2)" in choices and "gradient by Winograd" in choices
    for (name, mine), theirs, true in zip(model.named_parameters(), pair.twin.parameters(), exact.parameters()):
        assert mine.grad is not None and theirs.grad is not None and true.grad is not None
        found, eager = ((one.grad.double() - true.grad).norm().item() for one in (mine, theirs))
        assert found <= 4 * eager + 1e-7 * true.grad.norm().item(), name


def test_what_is_not_finite_is_where_eager_has_it_in_spite_of_winograd() -> None:
    pair = Pair(nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)), threads=1)
    x = torch.randn(2, 16, 20, 20)
    x[0, 3, 4, 5] = float("inf")
    found, wanted = pair.both(lambda model: model(x))
    assert torch.equal(found.isfinite(), wanted.isfinite()) and not found.isfinite().all()
    for result in (found, wanted):
        result.nan_to_num(0, 0, 0).sum().backward()
    for (name, mine), theirs in zip(pair.model.named_parameters(), pair.twin.parameters()):
        assert mine.grad is not None and theirs.grad is not None
        assert torch.equal(mine.grad.isfinite(), theirs.grad.isfinite()), name
    assert "gradient by Winograd" in " ".join(event.message for event in pair.journal.of("choice"))
    assert "computed again" in " ".join(event.message for event in pair.journal.of("fallback"))


def test_winograd_can_be_switched_off() -> None:
    pair = Pair(wide(), winograd=False)
    pair.step(torch.randn(2, 16, 20, 20))
    assert "Winograd" not in " ".join(event.message for event in pair.journal.of("choice"))


def test_gradients_of_biases_are_as_exact_as_those_of_eager() -> None:
    """Their terms cancel: the error of a sum in one go would be ten times that of eager's cascades."""
    torch.manual_seed(1)
    model, x = nn.Sequential(nn.Conv2d(3, 16, 1), nn.GELU(), nn.Conv2d(16, 8, 1)), torch.randn(2, 3, 11, 11)
    weights = torch.randn(2, 8, 11, 11)
    exact, pair = copy.deepcopy(model).double(), Pair(model)
    for one in (pair.fast, pair.twin, exact):
        result = one(x.double() if one is exact else x)
        (result * weights.to(result.dtype)).sum().backward()
    assert not pair.reasons
    for name in ("0.bias", "2.bias"):
        grads = (each.get_parameter(name).grad for each in (model, pair.twin, exact))
        mine, theirs, true = (grad.double() for grad in grads if grad is not None)
        assert (mine - true).norm() <= 4 * (theirs - true).norm(), name
