"""ONNX models train: initialisers learn, with the gradients of the model that the file was exported from."""

from __future__ import annotations

import copy
import io
from functools import partial
from typing import Any

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


class Layers(nn.Module):
    """A recurrent layer, whose results and last states are read."""

    def __init__(self, kind: type[nn.RNNBase], **form: Any) -> None:
        super().__init__()
        self.layers = kind(6, 8, **form)
        self.head = nn.Linear(16 if form.get("bidirectional") else 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y, last = self.layers(x)
        last = last[0] if isinstance(last, tuple) else last
        return self.head(y) + last.mean()


class Resized(nn.Module):
    """Operators whose constants stand among the nodes of the file: scales, the numbers of a group norm and of GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.Conv2d(11, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.gelu(self.norm(self.conv(x)))
        return self.head(torch.cat([x, nn.functional.interpolate(y, scale_factor=2, mode="bilinear")], 1))


class New(nn.Module):
    """Parameters and statistics as a constructor leaves them, many of them zeros and ones."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.table = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.LayerNorm(8)
        self.attention, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.table(self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2))
        return self.head(y + self.attention(y, y, y, need_weights=False)[0])


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (partial(Layers, nn.LSTM), (5, 2, 6)),
        (partial(Layers, nn.LSTM, num_layers=2, bidirectional=True, bias=False), (5, 2, 6)),
        (partial(Layers, nn.GRU, batch_first=True), (2, 5, 6)),
        (partial(Layers, nn.RNN, nonlinearity="relu"), (5, 2, 6)),
        (Resized, (2, 3, 16, 16)),
        (New, (2, 3, 8, 8)),
    ],
    ids=["lstm", "both ways", "gru", "rnn", "resized", "new"],
)
@pytest.mark.filterwarnings("ignore")
def test_steps_of_training_are_those_of_the_exported_model(make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, file, x = make().eval(), io.BytesIO(), torch.randn(shape)
    torch.onnx.export(model, (x,), file, dynamo=False, do_constant_folding=False, opset_version=17,
                      training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
    learner = strop.compile(file.getvalue(), (x,), training=True)
    optimisers = [torch.optim.SGD(each.parameters(), lr=0.05) for each in (learner, model)]
    for _ in range(3):
        for each, optimiser in zip((learner, model), optimisers):
            each(x).square().mean().backward()
            optimiser.step()
            optimiser.zero_grad()
    same(learner(x).detach(), model(x).detach())


def test_weights_that_are_tied_stay_tied() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
            self.second.weight = self.first.weight

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).tanh())

    torch.manual_seed(0)
    torch._dynamo.reset()
    model, file, x = Tied().eval(), io.BytesIO(), torch.randn(4, 6)
    torch.onnx.export(model, (x,), file, dynamo=False, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
    learner = strop.compile(file.getvalue(), (x,), training=True)
    wanted, found = gradients(model, x), gradients(learner, x)
    same(found["first.weight"], wanted["first.weight"])


def test_a_model_without_weights_is_refused() -> None:
    file = io.BytesIO()
    torch.onnx.export(nn.ReLU(), (torch.randn(2, 3),), file, dynamo=False)
    with pytest.raises(strop.Problem, match="no initialisers that could learn"):
        strop.compile(file.getvalue(), training=True)
