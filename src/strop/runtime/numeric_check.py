"""A program's numbers beside those of eager mode, on the same inputs.

The measure is eager's own error: both are compared with the model in double precision, and a program may be off by a
few times as much as eager is. Models that cannot be run in double precision are compared with eager alone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from strop.core.json_data import JsonData

TIMES_EAGER = 4.0  # what a program's error may be, in terms of eager's
LEAST = 1e-5  # of an output's scale: what is always allowed
WITHOUT_EXACT = 1e-4  # of an output's scale, where there is no result in double precision


@dataclass(frozen=True)
class OutputCheck(JsonData):
    """How far an output is from what eager mode computes."""

    output: str
    type: str
    largest_error: float  # absolute
    allowed: float  # the largest that is allowed there
    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class NumericCheck(JsonData):
    """The program's numbers beside those of eager mode, on the session's inputs."""

    outputs: tuple[OutputCheck, ...]

    @property
    def ok(self) -> bool:
        return all(one.ok for one in self.outputs)

    @property
    def told(self) -> str:
        """One line for people."""
        wrong = next((one for one in self.outputs if not one.ok), None)
        if wrong is not None:
            return f"{wrong.output} differs from eager: {wrong.reason}"
        worst = max((one.largest_error for one in self.outputs), default=0.0)
        return f"{len(self.outputs)} outputs agree with eager, largest difference {worst:.2g}"

    def __bool__(self) -> bool:
        return self.ok

    derived = ("ok", "told")


class References:
    """What eager mode computes, in single and in double precision, until parameters change: outputs or, of a training
    step, outputs and gradients."""

    def __init__(
        self, model: nn.Module, inputs: Sequence[Any], kwargs: Mapping[str, Any], *, training: bool = False
    ) -> None:
        self.model, self.inputs, self.kwargs, self.training = model, inputs, kwargs, training
        self._at: tuple[Any, ...] | None = None
        self._found: tuple[list[Any], list[Any] | None] = ([], None)

    def check(self, module: nn.Module) -> NumericCheck:
        """Compare a module that has the model's parameters. Buffers, gradients and the random generator are as they
        were afterwards."""
        eager, exact = self._references()
        ours = self.run(module)
        if len(ours) != len(eager):
            told = f"{len(ours)} results where {len(eager)} are expected"
            return NumericCheck((OutputCheck("results", "", float("inf"), 0.0, False, told),))
        names = self._names(len(eager))
        return NumericCheck(
            tuple(
                _compared(name, a, b, exact[i] if exact else None)
                for i, (name, a, b) in enumerate(zip(names, ours, eager))
                if isinstance(b, Tensor)
            )
        )

    def run(self, module: nn.Module) -> list[Any]:
        """What a module computes on the inputs: outputs and, of a training step, gradients. It is as it was then."""
        return self._run(module, self.inputs, self.kwargs)

    def _names(self, count: int) -> list[str]:
        learning = [name for name, p in self.model.named_parameters() if p.requires_grad] if self.training else []
        outputs = count - len(learning)
        several = [f"output {i}" for i in range(outputs)] if outputs > 1 else ["output"] * outputs
        return [*several, *(f"gradient of {name}" for name in learning)]

    def _run(self, model: nn.Module, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        with _undone(model), torch.set_grad_enabled(self.training):
            found = pytree.tree_leaves(model(*inputs, **kwargs))
            if not self.training:
                return found
            outputs = [one for one in found if isinstance(one, Tensor) and one.requires_grad]
            learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
            ones = [torch.ones_like(output) for output in outputs]
            gradients = torch.autograd.grad(outputs, learning, ones, allow_unused=True)
            return [*(one.detach() if isinstance(one, Tensor) else one for one in found), *gradients]

    def _references(self) -> tuple[list[Any], list[Any] | None]:
        state = (*self.model.parameters(), *self.model.buffers())
        now = tuple((id(tensor), tensor._version) for tensor in state)
        if self._at != now:
            eager = self._run(self.model, self.inputs, self.kwargs)
            self._found = eager, self._exact()
            self._at = tuple((id(tensor), tensor._version) for tensor in state)
        return self._found

    def _exact(self) -> list[Any] | None:
        """The same in double precision; None where the model does not run in it."""
        try:
            wide = copy.deepcopy(self.model).double()
            given, named = pytree.tree_map_only(Tensor, _widened, (tuple(self.inputs), dict(self.kwargs)))
            found = self._run(wide, given, named)
        except Exception:  # whatever user code raises when it meets float64
            return None
        floats = [one for one in found if isinstance(one, Tensor) and one.is_floating_point()]
        return found if all(one.dtype == torch.float64 for one in floats) else None


def _widened(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


@contextmanager
def _undone(model: nn.Module) -> Iterator[None]:
    """Have what a call changes (buffers, the random generator) as it was before."""
    held = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    generator = torch.get_rng_state()
    try:
        torch.manual_seed(0)
        yield
    finally:
        torch.set_rng_state(generator)
        with torch.no_grad():
            for buffer, before in held:
                if not torch.equal(buffer, before):
                    buffer.copy_(before)


def _compared(name: str, ours: Any, eager: Tensor, exact: Any) -> OutputCheck:
    kind = f"{str(eager.dtype).removeprefix('torch.')}[{','.join(map(str, eager.shape))}]"
    if not isinstance(ours, Tensor) or ours.shape != eager.shape or ours.dtype != eager.dtype:
        return OutputCheck(name, kind, float("inf"), 0.0, False, "its type is another")
    if not eager.numel():
        return OutputCheck(name, kind, 0.0, 0.0, True)
    if not eager.is_floating_point():
        wrong = int((ours != eager).sum())
        told = f"{wrong} of {eager.numel()} elements differ" if wrong else ""
        return OutputCheck(name, kind, float(wrong), 0.0, not wrong, told)
    wide_ours, wide_eager = ours.double(), eager.double()
    finite = wide_eager.isfinite()
    if not torch.equal(wide_ours.isfinite(), finite):
        return OutputCheck(name, kind, float("inf"), 0.0, False, "NaN or infinities are elsewhere")
    scale = float(wide_eager[finite].abs().max()) if finite.any() else 0.0
    if exact is None:
        error, allowed = _largest(wide_ours, wide_eager, finite), WITHOUT_EXACT * scale
    else:
        error = _largest(wide_ours, exact, finite)
        allowed = max(TIMES_EAGER * _largest(wide_eager, exact, finite), LEAST * scale)
    told = f"off by {error:.3g}, and {allowed:.3g} is allowed" if error > allowed else ""
    return OutputCheck(name, kind, error, allowed, not told, told)


def _largest(a: Tensor, b: Tensor, where: Tensor) -> float:
    difference = (a - b)[where].abs()
    return float(difference.nan_to_num(nan=float("inf")).max()) if difference.numel() else 0.0
