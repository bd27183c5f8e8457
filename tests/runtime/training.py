"""Training beside eager: the same model twice, one of them compiled, and what has to be equal afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._functorch import config

from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime import dynamo, short_step
from strop.runtime.dynamo import Backend

#: of a tensor's scale, the largest element of either
TOLERANCE = 1e-4


class Images(nn.Module):
    """A small network of everything that images pass through."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, groups=8, bias=False)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.silu(self.norm(self.conv(x))), 2)
        return self.head(F.adaptive_avg_pool2d(self.depthwise(x), 1).flatten(1))


@contextmanager
def short_steps() -> Iterator[None]:
    """Inside, steps take the short way (`short_step.py`) at once: backward is compiled with forward, and a call before
    the first one is forgotten."""

    def primed(step: Any, compiled: Callable[..., Any]) -> Callable[..., Any]:
        call = short_step.short_step(step, compiled)

        @torch._dynamo.disable
        def first(*args: Any) -> Any:
            if not used:
                used.append(True)
                generator = torch.get_rng_state()
                with suppress(Exception):
                    call(
                        *[
                            a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a
                            for a in args
                        ]
                    )
                torch.set_rng_state(generator)
            return call(*args)

        used: list[bool] = []
        return first

    with config.patch(force_non_lazy_backward_lowering=True), patch.object(dynamo, "short_step", primed):
        yield


class Pair:
    """A model behind the backend beside an eager twin."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        torch._dynamo.reset()
        self.model, self.twin = model, copy.deepcopy(model)
        self.journal = Journal()
        self.fast: Any = torch.compile(model, backend=Backend(Options(**options), self.journal))

    def both(self, run: Callable[[Any], Any], seed: int = 0) -> tuple[Any, Any]:
        """What a function makes of either model, under the same seed."""
        found = []
        for model in (self.fast, self.twin):
            torch.manual_seed(seed)
            found.append(run(model))
        return found[0], found[1]

    def step(self, *inputs: Tensor, seed: int = 0) -> None:
        """Forward and backward of both, and all that they leave behind compared."""
        same(*self.both(lambda model: _backward(model(*inputs)), seed))
        self.compare()

    def compare(self) -> None:
        for (name, mine), theirs in zip(self.model.named_parameters(), self.twin.parameters()):
            assert (mine.grad is None) == (theirs.grad is None), name
            if mine.grad is not None and theirs.grad is not None:
                same(mine.grad, theirs.grad, name)
        for (name, mine), theirs in zip(self.model.named_buffers(), self.twin.buffers()):
            same(mine, theirs, name)

    @property
    def reasons(self) -> str:
        """Why something ran eager."""
        return " ".join(event.message for event in self.journal.of("fallback") if "runs eager" in event.message)


def _backward(result: Any) -> Any:
    loss = result if isinstance(result, Tensor) else result[0]
    loss.float().square().mean().backward()
    return loss.detach()


def same(found: Any, wanted: Any, name: str = "") -> None:
    """Equal up to a share of the tensor's scale."""
    if not isinstance(found, Tensor):
        assert found == wanted, name
        return
    found, wanted = (t.to_dense() if t.is_sparse else t for t in (found, wanted))
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, name
    if not wanted.numel():
        return
    scale = wanted.double().abs().max().item() or 1.0
    error = (found.double() - wanted.double()).abs().max().item()
    assert error <= TOLERANCE * scale, f"{name}: {error} of {scale}"
