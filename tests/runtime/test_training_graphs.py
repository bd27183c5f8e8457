"""Random graphs: whatever a model is made of, its gradients are eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from element_errors import nudged
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from runtime.training import Pair

Shape = tuple[int, ...]
LARGEST = 20_000  # elements


@dataclass(frozen=True)
class Operation:
    """One step of a drawn model: shapes of its parameters for a shape of x, and what it makes of x and them."""

    apply: Callable[..., Tensor]
    parameters: Callable[[Shape], Sequence[Shape]] = lambda shape: ()
    fits: Callable[[Shape], bool] = lambda shape: True


def is_image(shape: Shape) -> bool:
    return len(shape) == 4 and min(shape[2:]) >= 3


def has_two(shape: Shape) -> bool:
    return len(shape) >= 2


def written_into(x: Tensor, scale: Tensor) -> Tensor:
    y = x * scale
    y[..., :1] = x[..., :1].sin() + 1
    y.mul_(0.5)
    y[0].add_(scale.sum())
    return y


def scattered(x: Tensor, table: Tensor) -> Tensor:
    places = torch.arange(x.shape[-1]) * 7 % x.shape[-1]
    return x.index_select(-1, places) + table[places % table.shape[0]]


OPERATIONS: dict[str, Operation] = {
    # pointwise
    "scale": Operation(lambda x, a, b: x * a + b, lambda s: (s[-1:], s[-1:])),
    "gelu": Operation(F.gelu),
    "relu": Operation(lambda x: F.relu(x) - 0.1 * x),
    "sigmoid": Operation(lambda x: torch.sigmoid(x) * x.tanh()),
    "where": Operation(lambda x: torch.where(x > 0.3, x.exp().clamp(max=20.0), 0.2 * x)),
    "rational": Operation(lambda x: x / (1 + x.square())),
    # reductions and what is made of them
    "centred": Operation(lambda x: x - x.mean(-1, keepdim=True)),
    "greatest": Operation(lambda x: x - 0.5 * x.amax(-1, keepdim=True)),
    "softmax": Operation(lambda x: x.softmax(-1) + 0.1 * x),
    "variance": Operation(lambda x: x * (x.var(0, keepdim=True, unbiased=False) + 0.1).rsqrt()),
    "running sum": Operation(lambda x: 0.1 * x.cumsum(-1)),
    "total": Operation(lambda x: x + 0.01 * x.sum()),
    # products
    "linear": Operation(lambda x, w, b: F.linear(x, w, b), lambda s: ((5, s[-1]), (5,))),
    "gram": Operation(lambda x: (x @ x.transpose(-1, -2)).div(x.shape[-1]), fits=has_two),
    # convolutions and pools
    "conv": Operation(
        lambda x, w, b: F.conv2d(x, w, b, padding=1), lambda s: ((4, s[1], 3, 3), (4,)), is_image
    ),
    "strided": Operation(lambda x, w: F.conv2d(x, w, stride=2, padding=1), lambda s: ((4, s[1], 3, 3),), is_image),
    "depthwise": Operation(
        lambda x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]), lambda s: ((s[1], 1, 3, 3),), is_image
    ),
    "transposed": Operation(
        lambda x, w: F.conv_transpose2d(x, w, stride=2), lambda s: ((s[1], 3, 2, 2),), is_image
    ),
    "max pool": Operation(lambda x: F.max_pool2d(x, 3, 2, 1), fits=is_image),
    "avg pool": Operation(lambda x: F.avg_pool2d(x, 2, ceil_mode=True), fits=is_image),
    "upsample": Operation(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), fits=is_image),
    # norms
    "layer norm": Operation(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), lambda s: (s[-1:], s[-1:])),
    "batch norm": Operation(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), lambda s: (s[1:2], s[1:2]),
        lambda s: len(s) >= 2 and prod(s) > 2 * s[1],
    ),
    # views and indices
    "flatten": Operation(lambda x: x.flatten(1), fits=has_two),
    "transpose": Operation(lambda x: x.transpose(0, -1), fits=has_two),
    "image": Operation(
        lambda x: x.reshape(x.shape[0], 2, x.shape[1] // 8, 4), fits=lambda s: len(s) == 2 and s[1] % 8 == 0
    ),
    "slice": Operation(lambda x: torch.cat([x[..., 1:], x[..., :2].flip(-1)], -1), fits=lambda s: s[-1] > 2),
    "stride": Operation(lambda x: x[..., ::2], fits=lambda s: s[-1] > 3),
    "pad": Operation(lambda x: F.pad(x, (1, 2))),
    "index": Operation(scattered, lambda s: ((3,),)),
    # in place
    "written": Operation(written_into, lambda s: (s[-1:],)),
}  # fmt: skip


#: a rounding error may decide what these do, so that float32 is no judge
KINKED = ("relu", "where", "greatest", "max pool")


class Drawn(nn.Module):
    """A chain of operations, and a sum of where it has been: values have several readers."""

    def __init__(self, names: Sequence[str], shape: Shape, dtype: torch.dtype) -> None:
        super().__init__()
        self.names: list[str] = []
        x = torch.zeros(shape, dtype=dtype)
        for name in names:
            operation = OPERATIONS[name]
            if not operation.fits(tuple(x.shape)):
                continue
            own = [torch.randn(each, dtype=dtype) * 0.5 for each in operation.parameters(tuple(x.shape))]
            made = operation.apply(x, *own)
            if made.numel() > LARGEST:
                continue
            for place, parameter in enumerate(own):
                self.register_parameter(f"own{len(self.names)}_{place}", nn.Parameter(parameter))
            self.names.append(name)
            x = made

    def forward(self, x: Tensor) -> Tensor:
        passed = x.sum()
        for number, name in enumerate(self.names):
            own = [p for key, p in self.named_parameters() if key.startswith(f"own{number}_")]
            x = OPERATIONS[name].apply(x, *own)
            passed = passed + x.mean()
        return x + passed


chains = st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=2, max_size=7)
shapes = st.sampled_from([(3, 4, 8, 9), (2, 3, 6, 6), (5, 16), (4, 7, 24), (33,)])
dtypes = st.sampled_from([torch.float64, torch.float32])


def train(names: Sequence[str], shape: Shape, dtype: torch.dtype, memory: Any) -> None:
    torch.manual_seed(len(names))
    names = [name for name in names if dtype is torch.float64 or name not in KINKED]
    pair = Pair(Drawn(names, shape, dtype), memory=memory)
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    found, eager = pair.both(lambda model: _gradients(model, x))
    exact = _gradients(copy.deepcopy(pair.twin).double(), x.detach().double().requires_grad_())
    unit = 1e-10 if dtype is torch.float64 else 1e-5
    largest = max(gradient.abs().max().item() for gradient in exact)
    usual = errors(eager, exact)
    scales = [max(right.abs().max().item(), 1e-2 * largest, 1e-6) for right in exact]  # behind a norm they may cancel
    for place, error in enumerate(errors(found, exact)):
        if error > max(unit * scales[place], 4 * usual[place]):  # eager may have been lucky at this very point
            usual = [max(pair) for pair in zip(usual, largest_errors(pair.twin, x))]
        assert error <= max(unit * scales[place], 4 * usual[place]), (names, place)
    assert not pair.reasons


def errors(found: Sequence[Tensor], exact: Sequence[Tensor]) -> list[float]:
    return [(mine.double() - right).abs().max().item() for mine, right in zip(found, exact)]


def largest_errors(model: nn.Module, x: Tensor) -> list[float]:
    """Eager's largest error of each gradient at points that are one unit in the last place away."""
    found = []
    for seed in range(16):
        generator = torch.Generator().manual_seed(seed)
        near = copy.deepcopy(model)
        with torch.no_grad():
            for parameter in near.parameters():
                parameter.copy_(nudged(parameter, generator))
        at = nudged(x.detach(), generator)
        exact = _gradients(copy.deepcopy(near).double(), at.double().requires_grad_())
        found.append(errors(_gradients(near, at.requires_grad_()), exact))
    return [max(each) for each in zip(*found)]


def _gradients(model: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(_loss(model(x)), [x, *model.parameters()])


def _loss(y: Tensor) -> Tensor:
    return (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)).sum() + y.square().mean()


@settings(max_examples=8, derandomize=True)
@given(chains, shapes, dtypes, st.sampled_from(["fastest", "balanced"]))
@example(["batch norm", "gelu", "total", "depthwise"], (2, 3, 6, 6), torch.float32, "balanced")
def test_gradients_of_random_graphs_equal_eager(
    names: Sequence[str], shape: Shape, dtype: torch.dtype, memory: str
) -> None:
    train(names, shape, dtype, memory)


@pytest.mark.slow
@settings(max_examples=300)
@given(chains, shapes, dtypes, st.sampled_from(["fastest", "balanced"]))
def test_gradients_of_many_random_graphs_equal_eager(
    names: Sequence[str], shape: Shape, dtype: torch.dtype, memory: str
) -> None:
    train(names, shape, dtype, memory)


def test_every_operation_is_drawn_somewhere() -> None:
    """A chain that reaches an operation exists for each of them: none is there that never runs."""
    for name in OPERATIONS:
        found = [shape for shape in [(3, 4, 8, 9), (5, 16), (33,)] if name in Drawn([name], shape, torch.float32).names]
        assert found, name
