"""Short ways for calls that look like the last one: past all checks that its long way has passed.

Small models take some tens of microseconds, and people call them by name with arrays: `Arrays` does in one function
what `CompiledOnnx.run` does in many.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.capture.onnx import Port
from strop.capture.onnx_ops.element_types import CARRIERS
from strop.run.dispatch import Dispatcher, Hot
from strop.run.program import NativeProgram
from strop.run.state import State

Array = np.ndarray[Any, np.dtype[Any]]
#: bytes of outputs that are kept for the next call
LARGEST_KEPT = 2**16
#: only under a lock of the interpreter do counts of references tell who holds an array
_COUNTS = getattr(sys, "_is_gil_enabled", lambda: True)()

_from_numpy = torch.from_numpy
_get_num_threads = torch.get_num_threads
_function_modes = torch._C._len_torch_function_stack


@dataclass(frozen=True)
class Usual:
    """The short way for calls whose bound inputs have the values of the last call."""

    hot: Hot
    count: int
    free: tuple[int, ...]
    values: tuple[tuple[int, Tensor], ...]

    @classmethod
    def of(cls, args: tuple[Any, ...], prepared: tuple[Any, ...], dispatcher: Dispatcher) -> Usual | None:
        fixed = [i for i, arg in enumerate(prepared) if arg is not args[i]]
        free = tuple(i for i in range(len(args)) if i not in fixed)
        hot = dispatcher.hot_for(prepared) if all(isinstance(args[i], Tensor) for i in free) else None
        return cls(hot, len(args), free, tuple((i, args[i].clone()) for i in fixed)) if hot is not None else None

    def fits(self, args: Sequence[Any], state: State, call_hooks: Sequence[Any]) -> bool:
        return (
            len(args) == self.count
            and not torch.is_grad_enabled()
            and all(isinstance(args[i], Tensor) and torch.equal(args[i], value) for i, value in self.values)
            and _serves(self.hot, [args[i] for i in self.free], state, call_hooks)
        )


def _serves(hot: Hot, tensors: Sequence[Tensor], state: State, call_hooks: Sequence[Any]) -> bool:
    return (
        hot.check(*tensors)
        and hot.threads == _get_num_threads()
        and hot.same is state.same
        and not _function_modes()
        and not any(call_hooks)
        and hot.same()
    )


def _references(arrays: list[Array]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


class _Results:
    """Arrays and their addresses."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self.addresses = [array.ctypes.data for array in arrays]


class Arrays:
    """The short way for arrays by name, of the types and shapes (bound ones: the very bytes) of the last call."""

    def __init__(
        self, hot: Hot, inputs: Sequence[tuple[str, Array, bool]], outputs: Sequence[tuple[str, Tensor]]
    ) -> None:
        self.hot = hot
        self.inputs = [(name, a.dtype, a.shape, a.tobytes() if bound else None) for name, a, bound in inputs]
        self.outputs = tuple(name for name, _ in outputs)
        self.single = len(outputs) == 1
        likes = [result.numpy() for _, result in outputs]
        native = hot.program if isinstance(hot.program, NativeProgram) and hot.program.writes_anywhere else None
        self.into = native.into if native and sum(a.nbytes for a in likes) <= LARGEST_KEPT else None
        self.likes = [(a.shape, a.dtype) for a in likes]
        self.kept: list[_Results] = []
        self.unseen = _references([np.empty(0) for _ in likes]) if _COUNTS else None

    @classmethod
    def of(
        cls, feeds: Mapping[str, Any], names: Sequence[str], args: Sequence[Any], outputs: Sequence[tuple[Port, Any]],
        usual: Usual | None, dispatcher: Dispatcher, call_hooks: Sequence[Any],
    ) -> Arrays | None:  # fmt: skip
        """Made after a call; None where its long way is needed again."""
        arrays = [feeds.get(name) for name in names[: len(args)]]
        if len(arrays) != len(feeds) or not all(type(a) is np.ndarray and a.dtype.kind in "fib" for a in arrays):
            return None
        if any(port.element_type in CARRIERS or not _plain(result) for port, result in outputs):
            return None
        hot, bound = dispatcher.hot, frozenset[int]()
        if usual is not None and usual.fits(args, dispatcher.state, call_hooks):
            hot, bound = usual.hot, frozenset(i for i, _ in usual.values)
        elif hot is None or len(args) != hot.count or not _serves(hot, args, dispatcher.state, call_hooks):
            return None
        inputs = [(name, array, i in bound) for i, (name, array) in enumerate(zip(names, arrays))]
        return cls(hot, inputs, [(port.name, result) for port, result in outputs])  # type: ignore[arg-type]

    def __call__(self, feeds: Mapping[str, Any], state: State, call_hooks: Sequence[Any]) -> dict[str, Any] | None:
        """The outputs, or None where this call differs from the last one."""
        inputs = self.inputs
        if len(feeds) != len(inputs):
            return None
        tensors = []
        for name, dtype, shape, value in inputs:
            array = feeds.get(name)
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                return None
            if value is not None:
                if array.tobytes() != value:
                    return None
            elif not array.flags.carray:
                return None
            else:
                tensors.append(_from_numpy(array))
        hot = self.hot
        if not _serves(hot, tensors, state, call_hooks):
            return None
        if self.into is not None:
            results = self._results()
            self.into(tensors, results.addresses)
            self.kept.append(results)
            return dict(zip(self.outputs, results.arrays))
        if self.single:
            return {self.outputs[0]: hot.run(tuple(tensors)).numpy()}
        return {name: tensor.numpy() for name, tensor in zip(self.outputs, hot.run(tuple(tensors)))}

    def _results(self) -> _Results:
        """Arrays for the outputs: those of the last call where the caller has let go of them."""
        if self.kept:
            last = self.kept.pop()
            if _references(last.arrays) == self.unseen:
                return last
        return _Results([np.empty(shape, dtype) for shape, dtype in self.likes])


def _plain(result: Any) -> bool:
    """Whether NumPy has the result's element type."""
    return isinstance(result, Tensor) and result.dtype != torch.bfloat16
