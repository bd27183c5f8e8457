"""PyTorch's optimizers with a native step. An optimizer becomes one of these classes and stays the object that it was:
schedulers, hooks, groups and checkpoints know it as before."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from strop.core.journal import Journal
from strop.kernels.optimizers.rules import AdamRules, SgdRules, UpdateRules
from strop.kernels.optimizers.step import OptimizerStep, Settings

Closure = Callable[[], Any]


class FusedOptimizer(Optimizer):
    """The part that the fused classes share; PyTorch's class comes after it in their bases."""

    _rules: UpdateRules
    _own: type[Optimizer]
    #: of the last step's gradients, where they are clipped
    grad_norm: float | None = None

    def _fuse(self, settings: Settings, journal: Journal) -> None:
        self._settings, self.journal = settings, journal
        # a GradScaler then unscales gradients itself, as it does for optimizers that are not fused
        self._step_supports_amp_scaling = False
        self._early: dict[int, tuple[Tensor, OptimizerStep]] = {}  # with `in_backward`: by a parameter's id
        self._renew()

    def _renew(self) -> None:
        """Forget tables, and with them the state that they lead to."""
        native = OptimizerStep(self._rules, self._settings, self.journal)
        # Dynamo, which Optimizer has imported, cannot trace it
        self._run: Callable[..., float | None] = torch.compiler.disable(native.run)  # type: ignore[no-untyped-call]
        self._early = {key: (p, self._early_step()) for key, (p, _) in self._early.items()}
        self._watch_gradients()

    def _step(self, closure: Closure | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = [group["params"] for group in self.param_groups]
        with torch.no_grad():
            self.grad_norm = self._run(self, parameters, self._own_step)
        return loss

    def _own_step(self) -> None:
        """PyTorch's, without the hooks of the optimizer: they are called around ours."""
        step: Any = self._own.step
        getattr(step, "__wrapped__", step)(self)

    # ---- updates in the backward pass ----

    def _watch_gradients(self) -> None:
        if not self._settings.in_backward:
            return
        for group in self.param_groups:
            for p in group["params"]:
                if id(p) not in self._early and p.requires_grad and p.is_leaf:
                    self._early[id(p)] = p, self._early_step()
                    p.register_post_accumulate_grad_hook(partial(_update_early, weakref.ref(self)))

    def _early_step(self) -> OptimizerStep:
        return OptimizerStep(self._rules, Settings(zero_grad="none"), self.journal)

    @torch.no_grad()
    def _update_early(self, p: Tensor) -> None:
        parameters = [[p] if any(map(partial(is_, p), group["params"])) else [] for group in self.param_groups]
        self._early[id(p)][1].run(self, parameters, self._own_step)

    # ---- what Optimizer does beside steps ----

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        self._watch_gradients()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_settings": self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_run" in self.__dict__:  # other state was loaded
            self._renew()
        else:  # a copy
            self._fuse(self._settings, Journal())


def _update_early(optimizer: weakref.ref[FusedOptimizer], p: Tensor) -> None:
    found = optimizer()
    if found is not None:
        found._update_early(p)


def _hooked(step: Callable[..., Any]) -> Any:
    """With hooks and the profiler's record around it, as PyTorch does for its own classes."""
    made: Any = Optimizer.profile_hook_step(step)
    made.hooked = True
    return made


class FusedAdam(FusedOptimizer, Adam):
    _rules, _own = AdamRules(), Adam
    step = _hooked(FusedOptimizer._step)


class FusedAdamW(FusedOptimizer, AdamW):
    _rules, _own = AdamRules(), AdamW
    step = _hooked(FusedOptimizer._step)


class FusedSGD(FusedOptimizer, SGD):
    _rules, _own = SgdRules(), SGD
    step = _hooked(FusedOptimizer._step)


FUSED: dict[type[Optimizer], type[FusedOptimizer]] = {Adam: FusedAdam, AdamW: FusedAdamW, SGD: FusedSGD}
