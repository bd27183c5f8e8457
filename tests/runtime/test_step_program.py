"""Programs of training steps: the order of backward and the memory that it takes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend
from strop.runtime.step_memory import StepMemory

BATCH, WIDTH = 512, 64
LAYER = BATCH * WIDTH * 4


def step_bytes(depth: int) -> int:
    """What a step of so many layers holds: forward keeps one value for each."""
    torch._dynamo.reset()
    backend, memories = Backend(Options(), Journal()), list[StepMemory]()
    build = backend.build_step

    def built(*given: Any) -> Any:
        memories.extend(each for each in given if isinstance(each, StepMemory))
        return build(*given)

    backend.build_step = built
    layers = [layer for _ in range(depth) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
    model = torch.compile(nn.Sequential(*layers), backend=backend)
    for _ in range(3):
        model(torch.randn(BATCH, WIDTH)).sum().backward()
    return memories[0].bytes


def test_a_layer_adds_what_it_keeps_and_no_temporaries() -> None:
    """A layer's weight gradient is computed as soon as the gradient of its result is there, which can then go; both lie
    where activations of later layers were."""
    assert step_bytes(12) - step_bytes(4) <= 8 * 1.1 * LAYER
