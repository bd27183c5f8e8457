"""ONNX models train: initialisers learn, with the gradients of the model that the file was exported from."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import Tensor, nn

import strop
from runtime.training import same

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(nn.functional.gelu(self.norm(self.conv(x))), 2)
        return self.head(x.mean((2, 3)))


@pytest.fixture(scope="module")
def exported() -> tuple[nn.Module, bytes]:
    torch.manual_seed(0)
    model = Images().eval()
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    file = io.BytesIO()
    torch.onnx.export(model, (torch.randn(2, 3, 8, 8),), file, dynamo=False, do_constant_folding=False,
                      input_names=["x"], dynamic_axes={"x": {0: "batch"}}, training=torch.onnx.TrainingMode.PRESERVE,
                      )  # fmt: skip
    return model, file.getvalue()


def gradients(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    model(x).square().mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_gradients_are_those_of_the_exported_model(exported: tuple[nn.Module, bytes]) -> None:
    torch._dynamo.reset()
    model, file = exported
    x = torch.randn(2, 3, 8, 8)
    learner = strop.compile(file, (x,), training=True)
    wanted = gradients(model, x)
    found = gradients(learner, x)
    assert set(found) == set(wanted)  # biases of one element learn, statistics of batch norms do not
    for name in wanted:
        same(found[name], wanted[name], name)


def test_it_learns_and_infers_with_what_it_has_learnt(exported: tuple[nn.Module, bytes]) -> None:
    torch._dynamo.reset()
    model, file = copy.deepcopy(exported[0]), exported[1]
    learner = strop.compile(file, training=True)
    optimisers = [torch.optim.SGD(each.parameters(), lr=0.05) for each in (learner, model)]
    for rows in (2, 2, 3):
        x = torch.randn(rows, 3, 8, 8)
        for each, optimiser in zip((learner, model), optimisers):
            each(x).square().mean().backward()
            optimiser.step()
            optimiser.zero_grad()
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        same(learner(x), model(x))
    same(torch.from_numpy(next(iter(learner.run({"x": x.numpy()}).values()))), model(x).detach())


def test_copies_learn_by_themselves(exported: tuple[nn.Module, bytes]) -> None:
    torch._dynamo.reset()
    x = torch.randn(2, 3, 8, 8)
    learner = strop.compile(exported[1], (x,), training=True)
    wanted = gradients(learner, x)
    found = gradients(copy.deepcopy(learner), x)
    for name in wanted:
        same(found[name], wanted[name])


def test_a_model_without_weights_is_refused() -> None:
    file = io.BytesIO()
    torch.onnx.export(nn.ReLU(), (torch.randn(2, 3),), file, dynamo=False)
    with pytest.raises(strop.Problem, match="no initialisers that could learn"):
        strop.compile(file.getvalue(), training=True)
