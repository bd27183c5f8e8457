"""PyTorch's optimizers with a step that is one native pass over all parameters.

optimizer = strop.fuse_optimizer(torch.optim.AdamW(model.parameters(), lr=3e-4))
optimizer = strop.fuse_optimizer(optimizer, clip_grad_norm=1.0, zero_grad="none")
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

from torch.optim import Optimizer

from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.kernels.optimizers.fused import FUSED, FusedOptimizer
from strop.kernels.optimizers.step import Settings, ZeroGrad

__all__ = ["fuse_optimizer"]

AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


def fuse_optimizer(
    optimizer: AnyOptimizer,
    *,
    clip_grad_norm: float | None = None,
    zero_grad: ZeroGrad | None = None,
    in_backward: bool = False,
    journal: Journal | None = None,
) -> AnyOptimizer:
    """The same optimizer (Adam, AdamW or SGD of `torch.optim`), whose `step` is one native pass.

    With `clip_grad_norm`, gradients are multiplied as `torch.nn.utils.clip_grad_norm_` would, while they are read; the
    norm is `optimizer.grad_norm`, and the gradients themselves stay as they are. `zero_grad="keep"` writes zeros over
    the gradients in the same pass, `"none"` drops them after it. With `in_backward`, each parameter is updated as soon
    as its gradient is ready, and the gradient is dropped.

    What native code does not take (other dtypes and devices, sparse gradients, `amsgrad` …) PyTorch's own step updates;
    `optimizer.journal` says so.
    """
    settings = _settings(clip_grad_norm, zero_grad, in_backward)
    if isinstance(optimizer, FusedOptimizer):
        raise Problem("STR406", "the optimizer is fused already", help="call strop.fuse_optimizer once")
    fused = FUSED.get(type(optimizer))
    if fused is None:
        kind = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        known = ", ".join(f"torch.optim.{one.__name__}" for one in FUSED)
        raise Problem("STR406", f"a {kind} cannot be fused", help=f"these can: {known}; not classes derived from them")
    step = optimizer.__dict__.get("step")
    if step is not None and not hasattr(step, "_wrapped_by_lr_sched"):
        raise Problem(
            "STR406", "the optimizer's `step` was replaced", help="fuse the optimizer before anything wraps its step"
        )
    changed: Any = optimizer
    changed.__class__ = fused
    changed._patch_step_function()
    changed._fuse(settings, journal if journal is not None else Journal())
    if step is not None:
        changed.step = _told_to_scheduler(changed)
    return optimizer


def _settings(clip_grad_norm: float | None, zero_grad: ZeroGrad | None, in_backward: bool) -> Settings:
    if clip_grad_norm is not None and not clip_grad_norm >= 0:
        raise Problem("STR001", f"clip_grad_norm is {clip_grad_norm!r}", help="give the largest norm, such as 1.0")
    if zero_grad not in (None, "keep", "none"):
        raise Problem("STR001", f"zero_grad is {zero_grad!r}", help='give "keep" (zeros), "none" (dropped) or None')
    if in_backward and clip_grad_norm is not None:
        told = "updates in the backward pass cannot be clipped by the norm of all gradients"
        raise Problem("STR001", told, help="leave out in_backward or clip_grad_norm")
    if in_backward and zero_grad == "keep":
        raise Problem("STR001", "updates in the backward pass keep no gradients", help='zero_grad="none", or none')
    return Settings(clip_grad_norm, zero_grad, in_backward)


def _told_to_scheduler(optimizer: FusedOptimizer) -> Any:
    """A learning-rate scheduler that was made before has wrapped PyTorch's step, to see that it is called."""
    reference = weakref.ref(optimizer)

    def step(*args: Any, **kwargs: Any) -> Any:
        found: Any = reference()
        found._opt_called = True
        return type(found).step(found, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    return step
