"""What Adam, AdamW and SGD need of native code: a kernel per group of parameters, state, scalars.

State is made as PyTorch makes it, so that a `state_dict` has the same keys, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer

from strop.kernels.optimizers import nests
from strop.kernels.optimizers.table import SCALARS, Kernel, Member, single
from strop.runtime.row_table import RowTable

Group = Mapping[str, Any]


class Scalars(Protocol):
    """The numbers that a step gives to native code."""

    @property
    def addresses(self) -> list[int]:
        """Where the scalars of each member are."""

    def write(self, groups: Sequence[Group], factor: float, present: NDArray[np.bool_]) -> None:
        """Set them for a step in which gradients are multiplied by `factor`."""


class UpdateRules(Protocol):
    def kernel(self, optimizer: Optimizer, group: Group) -> Kernel | str:
        """The kernel of a group's parameters, without what all kernels are told, or why there is none."""

    def member(self, optimizer: Optimizer, parameter: Tensor, group: int, kernel: Kernel) -> Member:
        """A parameter that has a gradient, with its state, which is made if there is none. State that has to be what
        the first update makes it is `fresh`, and not the optimizer's before that."""

    def keep(self, optimizer: Optimizer, fresh: Sequence[Member]) -> None:
        """Give the optimizer the state that was fresh before an update."""

    def held(self, member: Member) -> Sequence[str]:
        """The names of its state in the optimizer, the step included."""

    def scalars(self, members: Sequence[Member], groups: int) -> Scalars: ...


class AdamRules:
    def kernel(self, optimizer: Optimizer, group: Group) -> Kernel | str:
        for flag in ("amsgrad", "capturable", "differentiable"):
            if group[flag]:
                return f"the group has `{flag}=True`"
        short = bool(group["betas"][0] <= 0.5)
        if group["weight_decay"] == 0:
            return "adam_update", "none", short
        decoupled = group.get("decoupled_weight_decay", isinstance(optimizer, AdamW))
        return "adam_update", "decoupled" if decoupled else "l2", short

    def member(self, optimizer: Optimizer, parameter: Tensor, group: int, kernel: Kernel) -> Member:
        assert isinstance(optimizer, Adam | AdamW)
        lists: list[list[Tensor]] = [[] for _ in range(6)]
        alone = {**optimizer.param_groups[group], "params": [parameter]}
        optimizer._init_group(alone, *lists)  # type: ignore[no-untyped-call]
        _, _, (first,), (second,), _, (step,) = lists
        return Member(parameter, group, kernel, (first, second), step)

    def keep(self, optimizer: Optimizer, fresh: Sequence[Member]) -> None:
        """There is none: averages start at zero."""

    def held(self, member: Member) -> Sequence[str]:
        return "exp_avg", "exp_avg_sq", "step"

    def scalars(self, members: Sequence[Member], groups: int) -> Scalars:
        return _AdamScalars(members, groups)


class _AdamScalars:
    """Native code counts each member's step and computes its bias corrections: steps may differ."""

    def __init__(self, members: Sequence[Member], groups: int) -> None:
        self._given = np.zeros((groups, nests.HYPERPARAMETERS), np.float64)
        self._made = np.zeros((len(members), SCALARS), np.float32)
        self._kernels = single("adam_scalars")
        self._rows = RowTable(len(members), (0, 0, 0))
        self._rows.kernels[:] = self._kernels.addresses
        groups_at = self._given.ctypes.data + self._given.strides[0] * np.array([m.group for m in members], np.int64)
        self._rows.pointers[:, 0] = groups_at
        self._rows.pointers[:, 1] = [member.step.data_ptr() for member in members if member.step is not None]
        self._rows.pointers[:, 2] = self.addresses

    @property
    def addresses(self) -> list[int]:
        start, stride = self._made.ctypes.data, self._made.strides[0]
        return [start + stride * i for i in range(len(self._made))]

    def write(self, groups: Sequence[Group], factor: float, present: NDArray[np.bool_]) -> None:
        for given, group in zip(self._given, groups, strict=True):
            beta1, beta2 = group["betas"]
            sign = -factor if group["maximize"] else factor
            given[:] = (group["lr"], beta1, beta2, group["eps"], group["weight_decay"], sign)
        self._rows.counts[:] = present
        self._rows.run()


class SgdRules:
    def kernel(self, optimizer: Optimizer, group: Group) -> Kernel | str:
        if group["differentiable"]:
            return "the group has `differentiable=True`"
        momentum = group["momentum"] != 0
        return "sgd_update", group["weight_decay"] != 0, momentum, momentum and bool(group["nesterov"])

    def member(self, optimizer: Optimizer, parameter: Tensor, group: int, kernel: Kernel) -> Member:
        if optimizer.param_groups[group]["momentum"] == 0:
            return Member(parameter, group, kernel, ())
        buffer = optimizer.state[parameter].get("momentum_buffer")
        if buffer is None:
            made = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            return Member(parameter, group, kernel, (made,), fresh=True)
        return Member(parameter, group, kernel, (buffer,))

    def keep(self, optimizer: Optimizer, fresh: Sequence[Member]) -> None:
        for member in fresh:
            optimizer.state[member.parameter]["momentum_buffer"] = member.buffers[0]

    def held(self, member: Member) -> Sequence[str]:
        return ("momentum_buffer",) if member.buffers else ()

    def scalars(self, members: Sequence[Member], groups: int) -> Scalars:
        return _SgdScalars(members, groups)


class _SgdScalars:
    """Two rows per group: the first update of a momentum buffer makes it the gradient, whatever the dampening."""

    def __init__(self, members: Sequence[Member], groups: int) -> None:
        self._members = members
        self._made = np.zeros((2 * groups, SCALARS), np.float32)

    @property
    def addresses(self) -> list[int]:
        start, stride = self._made.ctypes.data, self._made.strides[0]
        return [start + stride * (2 * member.group + member.fresh) for member in self._members]

    def write(self, groups: Sequence[Group], factor: float, present: NDArray[np.bool_]) -> None:
        for i, group in enumerate(groups):
            sign = -factor if group["maximize"] else factor
            momentum = group["momentum"]
            row = [sign, group["weight_decay"], momentum, 1 - group["dampening"], momentum, group["lr"]]
            self._made[2 * i, : nests.SGD_SCALARS] = row
            row[nests.S_OLD], row[nests.S_NEW] = 0.0, 1.0
            self._made[2 * i + 1, : nests.SGD_SCALARS] = row
