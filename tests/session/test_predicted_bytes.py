"""What a preview predicts is what is there after applying, to the byte: random passes of several networks, and of both
halves of a training step."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn

import strop
from strop.core.passes import LEVELS, Level
from strop.core.problem import Problem
from strop.session import Session
from strop.session.preview import Preview
from strop.session.steering import Steering

OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host")
#: passes of these levels change what a program does; of memory there are as many as there are places
STEERED: tuple[Level, ...] = tuple(level for level in LEVELS if level not in ("partition", "memory"))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.deep, self.last = nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.first(x)).relu()
        return self.last(self.deep(y).sigmoid()) + y


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(mixed.transpose(1, 2).flatten(2)).tanh()


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (Residual, (1, 16, 12, 16)),
    "attention": (Attention, (2, 10, 32)),
    "perceptron": (lambda: nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 8), nn.Softmax(1)), (6, 24)),
}


def made(name: str, *, training: bool) -> Session:
    torch.manual_seed(0)
    make, shape = NETWORKS[name]
    model = make() if training else make().eval()
    return Session(model, (torch.randn(shape),), options=OPTIONS, training=training)


def agree(program: Steering, count: int, seed: int) -> None:
    """Preview and apply passes drawn from all over the program, one on top of the other."""
    draw = random.Random(seed)
    done = 0
    for level in draw.sample([level for level in STEERED for _ in range(count)], len(STEERED) * count):
        able = [one for one in program.space(levels=(level,)) if one.verdict and one.passes]
        if not able:
            continue
        passes = draw.choice(able).passes
        try:
            told = program.preview(*passes)
        except Problem:
            continue  # a later planner refuses it: there is nothing to predict
        program.apply(*passes)
        assert_is_there(program, told, passes)
        done += 1
        if draw.random() < 0.3:
            program.undo()
            assert program.preview().before == told.before
    assert done >= count


def assert_is_there(program: Steering, told: Preview, passes: Sequence[object]) -> None:
    now = program.preview()
    assert now.before.bytes == told.after.bytes == program.timeline()[-1].bytes, passes
    assert now.before.cycles == told.after.cycles, passes
    planned = program.view("plan").nodes
    runs = [node for node in planned if node.name in set(program.nests.names)]
    assert sum(node.bytes_read + node.bytes_written for node in runs) == told.after.bytes, passes


@pytest.mark.parametrize("name", NETWORKS)
def test_bytes_of_a_preview_are_those_after_applying(name: str) -> None:
    agree(made(name, training=False), 2, seed=1)


@pytest.mark.parametrize("half", ["forward", "backward"])
def test_bytes_of_a_preview_of_a_training_step_are_those_after_applying(half: str) -> None:
    session = made("residual", training=True)
    agree(session.halves[half], 1, seed=2)  # type: ignore[index]
    torch._dynamo.reset()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", NETWORKS)
def test_bytes_of_many_previews(name: str, seed: int) -> None:
    agree(made(name, training=False), 4, seed)
    session = made(name, training=True)
    for half in session.halves.values():
        agree(half, 2, seed)
    torch._dynamo.reset()
