"""One step of an optimizer in native code, with PyTorch's own for the parameters that native code does not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from math import sqrt
from operator import is_
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.kernels.optimizers.rules import Scalars, UpdateRules
from strop.kernels.optimizers.table import Kernel, Member, UpdateTable, alike, overlapping, unsuitable

ZeroGrad = Literal["keep", "none"]


@dataclass(frozen=True)
class Settings:
    """What a step does beside updating parameters."""

    clip_grad_norm: float | None = None
    zero_grad: ZeroGrad | None = None
    in_backward: bool = False


class OptimizerStep:
    """Updates some parameters of an optimizer. Tables are kept while parameters, state and kernels stay as they are."""

    def __init__(self, rules: UpdateRules, settings: Settings, journal: Journal) -> None:
        self.rules, self.settings, self.journal = rules, settings, journal
        self._told: set[str] = set()
        self._kernels: list[Kernel | str] = []  # by group
        self._parameters: list[list[Tensor]] = []  # by group
        self._natives: list[Tensor] = []  # what the table updates
        self._waiting: list[Tensor] = []  # without a gradient that native code can read, so far
        self._refused: list[Tensor] = []
        self._held: list[tuple[Tensor, Sequence[str]]] = []  # names of the state of native parameters
        self._places: list[Any] = []
        self._contiguous = True  # all native parameters
        self._fresh: list[Member] = []
        self._scalars: Scalars | None = None
        self._table: UpdateTable | None = None

    def run(
        self, optimizer: Optimizer, parameters: Sequence[Sequence[Tensor]], own: Callable[[], object]
    ) -> float | None:
        """One step of parameters, which are given by group; `own` is PyTorch's. The norm of the gradients, where they
        are clipped by it."""
        rest = self._prepare(optimizer, parameters)
        natives, table = self._natives, self._table
        grads = [p.grad for p in natives]
        fit = self._readable(grads, natives, self._contiguous)
        if not all(fit):
            misfits = [p for p, g, fits in zip(natives, grads, fit) if g is not None and not fits]
            self._tell(Counter({_UNFIT: len(misfits)} if misfits else ()))
            rest += misfits
        present = np.array(fit, np.bool_)
        if table is not None:
            table.take_gradients([g.data_ptr() if g is not None else 0 for g in compress(grads, fit)], present)
        norm, factor = self._clip(rest)
        if rest:
            _others_hidden(optimizer, rest, own)
        if table is not None and self._scalars is not None:
            self._scalars.write(optimizer.param_groups, factor, present)
            table.update()
            torch.autograd.graph.increment_version(compress(natives, fit))
            if self.settings.zero_grad == "keep":
                torch.autograd.graph.increment_version(compress(grads, fit))  # type: ignore[arg-type]
            if self._fresh:
                self.rules.keep(optimizer, self._fresh)
                self._kernels = []  # the tables are made anew: scalars are others after the first update
        if self.settings.zero_grad is not None:
            self._zero(parameters, rest)
        return norm

    # ---- tables ----

    def _prepare(self, optimizer: Optimizer, parameters: Sequence[Sequence[Tensor]]) -> list[Tensor]:
        """Tables for the parameters as they are now; those that PyTorch is to update."""
        kernels = [self._kernel(optimizer, group) for group in optimizer.param_groups]
        same = kernels == self._kernels and len(parameters) == len(self._parameters)
        same = same and all(_identical(now, known) for now, known in zip(parameters, self._parameters))
        same = same and self._places == self._found(optimizer)
        if not same or any(p.grad is not None and alike(p.grad, p) for p in self._waiting):
            self._build(optimizer, parameters, kernels)
        unfit = [p for p in self._waiting if p.grad is not None]
        if unfit:
            self._tell(Counter({_UNFIT: len(unfit)}))
        return [*unfit, *(p for p in self._refused if p.grad is not None)]

    def _found(self, optimizer: Optimizer) -> list[Any]:
        """Where parameters and their state are, and how parameters lie there; nothing where state is missing."""
        state = optimizer.state
        try:
            return [
                [*map(Tensor.data_ptr, self._natives)],
                [*map(Tensor.numel, self._natives)],
                [p.is_contiguous() or p.stride() for p in self._natives],
                [[held[name].data_ptr() for name in names] for p, names in self._held if (held := state.get(p))],
            ]
        except (KeyError, AttributeError):
            return []

    def _build(self, optimizer: Optimizer, parameters: Sequence[Sequence[Tensor]], kernels: list[Kernel | str]) -> None:
        self._kernels, self._parameters = kernels, [list(group) for group in parameters]
        self._refused, self._waiting = [], []
        reasons: Counter[str] = Counter()
        members: list[Member] = []
        everything = [*chain.from_iterable(parameters)]
        times = Counter(map(id, everything))
        readable = {*map(id, compress(everything, self._readable([p.grad for p in everything], everything)))}
        for i, (group, kernel) in enumerate(zip(parameters, kernels)):
            for p in group:
                reason = kernel if isinstance(kernel, str) else unsuitable(p)
                if times[id(p)] > 1:
                    reason = "a parameter occurs twice"
                if isinstance(kernel, str) or reason:
                    self._refused.append(p)
                    reasons[reason] += 1
                elif id(p) not in readable:
                    self._waiting.append(p)
                else:
                    members.append(self.rules.member(optimizer, p, i, kernel))
        faults = _state_faults(members)
        self._refused += [members[i].parameter for i in faults]
        reasons.update(faults.values())
        members = [member for i, member in enumerate(members) if i not in faults]
        try:
            self._scalars = self.rules.scalars(members, len(optimizer.param_groups))
            self._table = UpdateTable(members, self._scalars.addresses)
        except Problem as problem:
            self._refused += [member.parameter for member in members]
            reasons[problem.message] += len(members)
            members, self._scalars, self._table = [], None, None
        self._natives = [member.parameter for member in members]
        self._held = [(m.parameter, names) for m in members if (names := self.rules.held(m))]
        self._contiguous = all(map(Tensor.is_contiguous, self._natives))
        self._fresh = [member for member in members if member.fresh]
        self._places = self._found(optimizer)
        self._tell(reasons)

    def _kernel(self, optimizer: Optimizer, group: dict[str, Any]) -> Kernel | str:
        """With what every kernel is told: whether gradients are scaled, and whether they are zeroed."""
        kernel = self.rules.kernel(optimizer, group)
        if isinstance(kernel, str):
            return kernel
        scaled = self.settings.clip_grad_norm is not None or bool(group["maximize"])
        return *kernel, scaled, self.settings.zero_grad == "keep"

    def _tell(self, reasons: Counter[str]) -> None:
        for reason, count in reasons.items():
            if reason not in self._told:
                self._told.add(reason)
                told = f"PyTorch's own step updates {count} of {sum(map(len, self._parameters))} parameters: {reason}"
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

    def _readable(
        self, grads: Sequence[Tensor | None], parameters: Sequence[Tensor], contiguous: bool = False
    ) -> list[bool]:
        """Which gradients native code can read; not those that share memory, if they might be zeroed before that."""
        fit = _fitting(grads, parameters, contiguous)
        if self.settings.zero_grad != "keep":
            return fit
        where = [i for i, fits in enumerate(fit) if fits]
        shared = {where[i] for i in overlapping([g for g, fits in zip(grads, fit) if g is not None and fits])}
        return [fits and i not in shared for i, fits in enumerate(fit)]

    def _zero(self, parameters: Sequence[Sequence[Tensor]], rest: Sequence[Tensor]) -> None:
        """Native code has zeroed the gradients that it has read; none stays part of a graph."""
        if self.settings.zero_grad == "none":
            for p in chain.from_iterable(parameters):
                p.grad = None
            return
        for g in [p.grad for p in chain.from_iterable(parameters)]:
            if g is not None and g.requires_grad:
                g.detach_()
        for p in rest:
            if p.grad is not None:
                p.grad.zero_()


_UNFIT = "a gradient is sparse, shared, or does not lie in memory as its parameter"


_dtype: Any = Tensor.dtype.__get__  # type: ignore[attr-defined]


def _identical(now: Sequence[Tensor], known: Sequence[Tensor]) -> bool:
    return len(now) == len(known) and all(map(is_, now, known))


def _fitting(grads: Sequence[Tensor | None], parameters: Sequence[Tensor], contiguous: bool) -> list[bool]:
    """Which gradients are there and lie in memory as their parameters do. Most often all do, which is found quickly
    where all parameters are contiguous."""
    try:
        plain = contiguous and {*map(type, grads)} <= {Tensor} and {*map(_dtype, grads)} <= {torch.float32}
        if plain and all(map(Tensor.is_contiguous, cast(Sequence[Tensor], grads))):
            return [True] * len(grads)
    except RuntimeError:  # a layout without strides
        pass
    return [g is not None and alike(g, p) for g, p in zip(grads, parameters)]


def _state_faults(members: Sequence[Member]) -> dict[int, str]:
    """Why native code cannot update members after all."""
    tensors = [(i, t) for i, member in enumerate(members) for t in (member.parameter, *member.buffers)]
    shared = {tensors[position][0] for position in overlapping([t for _, t in tensors])}
    found = dict.fromkeys(shared, "parameters or their state share memory")
    for i, member in enumerate(members):
        step = member.step
        if not all(alike(buffer, member.parameter) for buffer in member.buffers):
            found[i] = "state does not lie in memory as its parameter"
        elif step is not None and (step.dtype is not torch.float32 or not step.is_cpu or step.numel() != 1):
            found[i] = f"a step is counted in {str(step.dtype).removeprefix('torch.')} on the device {step.device}"
    return found


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
