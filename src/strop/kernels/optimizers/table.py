"""The tables that a native step runs over: pieces of parameters, with pointers to gradients, state and scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from strop.core.problem import Problem
from strop.kernels import native
from strop.runtime.program import NativeProgram
from strop.runtime.row_table import PIECES, PieceKernels, RowTable

#: elements of a row: few enough that threads share the rows of a large parameter evenly
ROW = 16 * PIECES[0]
#: elements from which starting a team of threads pays
PARALLEL_ELEMENTS = 64 * 1024
#: float32 numbers that the scalars of one update take, of which each update uses the first few: a cache line
SCALARS = 16
_BYTES = 4  # of a float32
_PLAIN = (Tensor, torch.nn.Parameter)

Kernel = tuple[Any, ...]  # its name and numbers, without the size of pieces


@dataclass(frozen=True)
class Member:
    """A parameter that native code updates. `buffers` are its state, as they follow it in the pointers of the kernel;
    `step` counts its updates. A `fresh` state has not been updated yet."""

    parameter: Tensor
    group: int
    kernel: Kernel
    buffers: tuple[Tensor, ...]
    step: Tensor | None = None
    fresh: bool = False


def unsuitable(tensor: Tensor) -> str:
    """Why native code cannot update a tensor, or nothing."""
    if type(tensor) not in _PLAIN:
        return f"a {type(tensor).__name__} is not a plain tensor"
    if not tensor.is_cpu:
        return f"a tensor is on the device {tensor.device}"
    if tensor.layout is not torch.strided:
        return f"a tensor is {str(tensor.layout).removeprefix('torch.')}"
    if tensor.dtype is not torch.float32:
        return f"a tensor is {str(tensor.dtype).removeprefix('torch.')}"
    if not torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return "the elements of a tensor do not lie side by side"
    return ""


def alike(tensor: Tensor, parameter: Tensor) -> bool:
    """Whether the elements of a gradient or a state lie in memory as those of its (suitable) parameter do."""
    if type(tensor) not in _PLAIN or tensor.dtype is not torch.float32 or tensor.is_sparse:
        return False
    try:
        if tensor.stride() == parameter.stride():
            return tensor.numel() == parameter.numel()
        return tensor.is_contiguous() and parameter.is_contiguous() and tensor.numel() == parameter.numel()
    except RuntimeError:  # layouts without strides
        return False


def overlapping(tensors: Sequence[Tensor]) -> set[int]:
    """Positions of dense tensors that share memory with another one of them."""
    starts = np.array([tensor.data_ptr() for tensor in tensors], np.int64)
    ends = starts + np.array([tensor.nbytes for tensor in tensors], np.int64)
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order][:-1])
    if (reached <= starts[order][1:]).all():
        return set()
    found: set[int] = set()
    for i in range(len(tensors)):
        meets = (starts < ends[i]) & (starts[i] < ends)
        meets[i] = False
        if meets.any():
            found.add(i)
    return found


def kernels(kernel: Kernel) -> PieceKernels:
    """A kernel for every size of piece."""
    name, *numbers = kernel
    programs = [native.program(name, size, *numbers, threads=1) for size in PIECES]
    return PieceKernels(tuple(_there(program, name) for program in programs))


def single(name: str) -> PieceKernels:
    """A kernel that has no size, for tables of single elements."""
    return PieceKernels((_there(native.program(name, threads=1), name),) * len(PIECES))


def _there(program: NativeProgram | None, name: str) -> NativeProgram:
    if program is None:
        raise Problem("STR401", f"there is no native code for `{name}`", help="the journal's fallback events say why")
    return program


class UpdateTable:
    """Rows for the update of all members, and for the squares of their gradients. Pointers of a row: scalars, gradient,
    parameter, buffers."""

    def __init__(self, members: Sequence[Member], scalars: Sequence[int]) -> None:
        """`scalars` are the addresses of each member's."""
        self.members = members  # held: nothing else may come to lie at the addresses of their state
        sizes = [member.parameter.numel() for member in members]
        self.elements = sum(sizes)
        pieces = [(i, first) for i, size in enumerate(sizes) for first in range(0, size, ROW)]
        self._owner = np.array([i for i, _ in pieces], np.int64)
        self._offset = np.array([first * _BYTES for _, first in pieces], np.int64)
        self._size = np.array([min(ROW, sizes[i] - first) for i, first in pieces], np.int64)
        most = max((len(member.buffers) for member in members), default=0)
        self._held = {member.kernel: kernels(member.kernel) for member in members}
        self._rows = RowTable(len(pieces), (0, *(_BYTES,) * (2 + most)))
        for row, (i, first) in enumerate(pieces):
            member = members[i]
            tensors = (member.parameter, *member.buffers)
            self._rows.kernels[row] = self._held[member.kernel].addresses
            self._rows.pointers[row, 0] = scalars[i]
            self._rows.pointers[row, 2 : 2 + len(tensors)] = [t.data_ptr() + first * _BYTES for t in tensors]
        self._squares: RowTable | None = None
        self._totals = np.zeros(len(pieces), np.float64)

    @property
    def threads(self) -> int:
        return torch.get_num_threads() if self.elements >= PARALLEL_ELEMENTS else 1

    def take_gradients(self, addresses: Sequence[int], present: NDArray[np.bool_]) -> None:
        """Where the gradients of those members are that have one in this step; the others are left out."""
        at = np.zeros(len(present), np.int64)
        at[present] = addresses
        self._rows.pointers[:, 1] = at[self._owner] + self._offset
        self._rows.counts[:] = self._size * present[self._owner]

    def square_sum(self) -> float:
        """Of all elements of the gradients."""
        if self._squares is None:
            self._squares = RowTable(len(self._totals), (_BYTES, 0))
            self._held["square_sum",] = kernels(("square_sum",))
            self._squares.kernels[:] = self._held["square_sum",].addresses
            self._squares.pointers[:, 1] = self._totals.ctypes.data + np.arange(len(self._totals)) * 8
        self._totals[:] = 0.0
        self._squares.counts[:] = self._rows.counts
        self._squares.pointers[:, 0] = self._rows.pointers[:, 1]
        self._squares.run(self.threads)
        return float(self._totals.sum())

    def update(self) -> None:
        self._rows.run(self.threads)
