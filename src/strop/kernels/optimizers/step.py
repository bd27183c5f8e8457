"""One step of an optimizer in native code, with PyTorch's own for the parameters that native code does not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.kernels.optimizers.rules import Rules, Scalars
from strop.kernels.optimizers.table import Kernel, Member, UpdateTable, alike, overlapping, unsuitable

ZeroGrad = Literal["keep", "none"]
_NO_STATE: dict[str, Any] = {}


@dataclass(frozen=True)
class Settings:
    """What a step does beside updating parameters."""

    clip_grad_norm: float | None = None
    zero_grad: ZeroGrad | None = None
    in_backward: bool = False


class NativeStep:
    """Updates some parameters of an optimizer. Tables are kept while parameters, state and kernels stay as they are."""

    def __init__(self, rules: Rules, settings: Settings, journal: Journal) -> None:
        self.rules, self.settings, self.journal = rules, settings, journal
        self._told: set[str] = set()
        self._kernels: list[tuple[int, Kernel | str]] = []
        self._parameters: list[Tensor] = []
        self._members: list[Member] = []
        self._natives: list[Tensor] = []  # the parameters of the members
        self._held: list[tuple[Tensor, str]] = []  # parameters with the names of their state
        self._others: list[tuple[Tensor, int]] = []  # that may become members, with their groups
        self._refused: list[Tensor] = []
        self._addresses: list[int] = []
        self._scalars: Scalars | None = None
        self._table: UpdateTable | None = None

    def run(self, optimizer: Optimizer, places: Sequence[tuple[int, Tensor]], own: Callable[[], object]) -> float | None:
        """One step of the parameters at `places` (with their groups); `own` is PyTorch's. The norm of the gradients,
        where they are clipped by it."""
        rest = self._prepare(optimizer, places)
        grads = [p.grad for p in self._natives]
        fit = [g is not None and alike(g, p) for g, p in zip(grads, self._natives)]
        if self.settings.zero_grad == "keep" and self._natives:
            shared = overlapping([g for g, fits in zip(grads, fit) if g is not None and fits])
            for number, i in enumerate([i for i, fits in enumerate(fit) if fits]):
                fit[i] = number not in shared
        misfits = [p for p, g, fits in zip(self._natives, grads, fit) if g is not None and not fits]
        if misfits:
            self._tell(Counter({"a gradient is sparse, shared or does not lie in memory as its parameter": len(misfits)}))
        rest += misfits
        present = np.array(fit, np.bool_)
        table = self._table
        if table is not None:
            table.take_gradients([g.data_ptr() if g is not None and f else 0 for g, f in zip(grads, fit)], present)
        norm, factor = self._clip(rest)
        if rest:
            _others_hidden(optimizer, rest, own)
        if table is not None and self._scalars is not None:
            self._scalars.write(optimizer.param_groups, factor, present)
            table.update()
            changed = [p for p, fits in zip(self._natives, fit) if fits]
            if self.settings.zero_grad == "keep":
                changed += [g for g, fits in zip(grads, fit) if g is not None and fits]
            torch.autograd.graph.increment_version(changed)
            if any(member.fresh for member in self._members):
                self._kernels = []  # their scalars are others from now on
        self._zero([p for _, p in places], rest)
        return norm

    # ---- tables ----

    def _prepare(self, optimizer: Optimizer, places: Sequence[tuple[int, Tensor]]) -> list[Tensor]:
        """Tables for the parameters as they are now; those that PyTorch is to update."""
        groups = optimizer.param_groups
        kernels = [(len(group["params"]), self.rules.kernel(optimizer, group)) for group in groups]
        parameters = [p for _, p in places]
        same = len(parameters) == len(self._parameters) and all(map(_is, parameters, self._parameters))
        if not same or kernels != self._kernels or self._addresses != self._found(optimizer):
            self._build(optimizer, places, kernels)
        elif any(p.grad is not None and alike(p.grad, p) for p, _ in self._others):
            self._build(optimizer, places, kernels)
        rest = [p for p in self._refused if p.grad is not None]
        unfit = [p for p, _ in self._others if p.grad is not None]
        if unfit:
            self._tell(Counter({"a gradient is sparse or does not lie in memory as its parameter": len(unfit)}))
        return rest + unfit

    def _found(self, optimizer: Optimizer) -> list[int]:
        """Addresses and sizes of parameters and state; empty where some state is not there."""
        state = optimizer.state
        try:
            return [
                *[p.data_ptr() for p in self._natives],
                *[p.numel() for p in self._natives],
                *[state.get(p, _NO_STATE)[name].data_ptr() for p, name in self._held],
            ]
        except (KeyError, AttributeError):
            return [0]

    def _build(
        self,
        optimizer: Optimizer,
        places: Sequence[tuple[int, Tensor]],
        kernels: list[tuple[int, Kernel | str]],
    ) -> None:
        self._kernels, self._parameters = kernels, [p for _, p in places]
        self._refused, self._others = [], []
        reasons: Counter[str] = Counter()
        members: list[Member] = []
        twice = {p for p, times in Counter(map(id, self._parameters)).items() if times > 1}
        for group, p in places:
            kernel = kernels[group][1]
            reason = kernel if isinstance(kernel, str) else unsuitable(p)
            if id(p) in twice:
                reason = "a parameter occurs twice"
            if reason:
                self._refused.append(p)
                reasons[reason] += 1
            elif p.grad is None or not alike(p.grad, p):
                self._others.append((p, group))
            else:
                assert not isinstance(kernel, str)
                members.append(self.rules.member(optimizer, p, group, (*kernel, *self._flags(optimizer, group))))
        tensors = [(i, t) for i, member in enumerate(members) for t in (member.parameter, *member.buffers)]
        shared = {tensors[position][0] for position in overlapping([t for _, t in tensors])}
        refused = {i: reason for i, m in enumerate(members) if (reason := _state_fault(m) or _SHARED * (i in shared))}
        self._refused += [members[i].parameter for i in refused]
        reasons.update(refused.values())
        self._members = [member for i, member in enumerate(members) if i not in refused]
        try:
            self._scalars = self.rules.scalars(self._members, len(optimizer.param_groups))
            self._table = UpdateTable(self._members, self._scalars.addresses)
        except Problem as problem:
            self._refused += [member.parameter for member in self._members]
            reasons[problem.message] += len(self._members)
            self._members, self._scalars, self._table = [], None, None
        self._natives = [member.parameter for member in self._members]
        self._held = [(m.parameter, name) for m in self._members for name in self.rules.held(m)]
        self._addresses = self._found(optimizer)
        self._tell(reasons)

    def _flags(self, optimizer: Optimizer, group: int) -> tuple[bool, bool]:
        """What every kernel is told: whether gradients are scaled, and whether they are zeroed."""
        scaled = self.settings.clip_grad_norm is not None or bool(optimizer.param_groups[group]["maximize"])
        return scaled, self.settings.zero_grad == "keep"

    def _tell(self, reasons: Counter[str]) -> None:
        for reason, count in reasons.items():
            if reason not in self._told:
                self._told.add(reason)
                told = f"PyTorch's own step updates {count} of {len(self._parameters)} parameters: {reason}"
                self.journal.warn("fallback", "fuse_optimizer", told)

    # ---- gradients ----

    def _clip(self, rest: Sequence[Tensor]) -> tuple[float | None, float]:
        """The norm of all gradients and the factor that brings it below the limit. Native code multiplies as it reads;
        the gradients that PyTorch reads are multiplied here."""
        limit = self.settings.clip_grad_norm
        if limit is None:
            return None, 1.0
        squares = self._table.square_sum() if self._table is not None else 0.0
        others = [p.grad for p in rest if p.grad is not None]
        if others:
            squares += float(torch.nn.utils.get_total_norm(others)) ** 2
        norm = sqrt(squares)
        factor = limit / (norm + 1e-6)
        if factor > 1.0:
            return norm, 1.0
        for gradient in others:
            gradient.mul_(factor)
        return norm, factor

    def _zero(self, parameters: Sequence[Tensor], rest: Sequence[Tensor]) -> None:
        """Native code has zeroed the gradients that it has read."""
        if self.settings.zero_grad == "none":
            for p in parameters:
                p.grad = None
        elif self.settings.zero_grad == "keep":
            for p in rest:
                if p.grad is not None:
                    p.grad.detach_().zero_()


_SHARED = "parameters or their state share memory"


def _is(a: object, b: object) -> bool:
    return a is b


def _state_fault(member: Member) -> str:
    if not all(alike(buffer, member.parameter) for buffer in member.buffers):
        return "state does not lie in memory as its parameter"
    step = member.step
    if step is not None and (step.dtype is not torch.float32 or not step.is_cpu or step.numel() != 1):
        return f"a step is counted in {str(step.dtype).removeprefix('torch.')} on the device {step.device}"
    return ""


def _others_hidden(optimizer: Optimizer, shown: Sequence[Tensor], own: Callable[[], object]) -> None:
    """PyTorch's own step as if no other parameter had a gradient."""
    names = set(map(id, shown))
    hidden = [
        (p, p.grad)
        for group in optimizer.param_groups
        for p in group["params"]
        if p.grad is not None and id(p) not in names
    ]
    for p, _ in hidden:
        p.grad = None
    try:
        own()
    finally:
        for p, gradient in hidden:
            p.grad = gradient
