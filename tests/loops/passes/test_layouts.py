"""Small captured programs, lowered and interpreted, against eager."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from loops.interpret import run
from strop.core.journal import Journal
from strop.frontend.torch.export import capture
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.loops.lowered import Lowered
from strop.runtime import reference
from strop.schedule.fuse import fuse


class Program(nn.Module):
    """A function as a module, so that it can be exported."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def execute(program: Lowered, inputs: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    """Nests by the interpreter, library calls by the reference."""
    memory = {b.name: x.numpy() for b, x in zip(program.inputs, inputs, strict=True)}
    memory.update((b.name, np.array(v).reshape(b.shape)) for b, v in program.constants.items())
    for native, steps in groupby(program.nests, key=lambda step: isinstance(step, Nest)):
        if native:
            run(list(steps), memory)
            continue
        for step in steps:
            results = reference.run(step.node, [torch.from_numpy(memory[b.name]) for b in step.inputs])
            for buffer, value in zip(step.outputs, results if isinstance(results, tuple) else (results,), strict=True):
                memory[buffer.name] = value.contiguous().numpy()
    return [memory[b.name] if b.size else np.zeros(b.shape, np.float32) for b in program.outputs]


def split_heads(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(2, 3, 2, 4).transpose(1, 2)


def attention_by_hand(x: torch.Tensor) -> torch.Tensor:
    q, k, v = split_heads(x), split_heads(x * 2), split_heads(x - 1)
    scores = (q @ k.transpose(-1, -2) / 2).masked_fill(torch.ones(3, 3).tril() == 0, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, 3, 8)


def shifted_windows(x: torch.Tensor) -> torch.Tensor:
    rolled = torch.roll(x, (1, -3), (1, 2))
    return rolled.unfold(2, 4, 2).flip(3).sum(-1) + functional.pad(x, (1, -2))[:, :, :3]


def sorted_then_gathered(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    ordered, places = x.transpose(1, 2).sort(dim=1)
    return ordered - ordered.mean(1, keepdim=True), x.transpose(1, 2).gather(1, places), places


def written_in_place(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[:, 1] = 7
    y[0, :, torch.tensor([0, 5])] += 1
    y.index_add_(2, torch.tensor([1, 1, 0]), x[:, :, :3])
    return y, y.view(6, 8), y.cumsum(0)


def joined(x: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(8, dtype=torch.float32).expand(2, 3, 8)
    return torch.stack([torch.cat([x, positions], 1), torch.cat([positions, x * 2], 1)]).permute(3, 0, 2, 1)


def statistics(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    spread = x.var((0, 2), correction=1), x.std(1, correction=0)
    return *spread, x.amax(2), x.argmin(1), x.flatten().argmax(), (x > 0).all(0), x.prod(1)


def several_results_of_one_row(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    total = x.sum(1)
    power = total.exp()
    return total, power, total + power


def through_half_precision(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    half = x.half().transpose(0, 1)
    return (half + 1).float() * x.transpose(0, 1), half.float()[1]


@pytest.mark.parametrize(
    "function",
    [
        attention_by_hand,
        shifted_windows,
        sorted_then_gathered,
        written_in_place,
        joined,
        statistics,
        several_results_of_one_row,
        through_half_precision,
    ],
    ids=lambda f: f.__name__,
)
def test_small_programs_equal_eager_before_and_after_fusion(function):
    torch.manual_seed(1)
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        want = function(x)
        lowered = lower(capture(Program(function), (x,)).graph)
    wanted = want if isinstance(want, tuple) else (want,)
    for program in (lowered, fuse(lowered, Journal())):
        for mine, eager in zip(execute(program, (x,)), wanted, strict=True):
            np.testing.assert_allclose(mine, eager.numpy(), rtol=1e-4, atol=1e-5)
