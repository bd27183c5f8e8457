"""Short ways for calls that look like the last one: past all checks that its long way has passed.

Small models take some tens of microseconds, and people call them by name with arrays: `Arrays` does in one function
what `CompiledOnnx.run` does in many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.capture.onnx import Port
from strop.capture.onnx_ops.element_types import CARRIERS
from strop.run.dispatch import Dispatcher, Hot
from strop.run.state import State

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


class Arrays:
    """The short way for arrays by name, of the types and shapes (bound ones: the very bytes) of the last call."""

    def __init__(
        self, hot: Hot, inputs: Sequence[tuple[str, np.ndarray[Any, Any], bool]], outputs: Sequence[str]
    ) -> None:
        self.hot = hot
        self.inputs = [(name, a.dtype, a.shape, a.tobytes() if bound else None) for name, a, bound in inputs]
        self.outputs = tuple(outputs)
        self.single = len(outputs) == 1

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
        return cls(hot, inputs, [port.name for port, _ in outputs])  # type: ignore[arg-type]

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
        if self.single:
            return {self.outputs[0]: hot.run(tuple(tensors)).numpy()}
        return {name: tensor.numpy() for name, tensor in zip(self.outputs, hot.run(tuple(tensors)))}


def _plain(result: Any) -> bool:
    """Whether NumPy has the result's element type."""
    return isinstance(result, Tensor) and result.dtype != torch.bfloat16
