"""Short ways for calls that look like the last one: past all checks that its long way has passed.

Small models take some tens of microseconds, and people call them by name with arrays: `Arrays` does in one function
what `CompiledOnnx.run` does in many.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.element_types import CARRIERS
from strop.frontend.onnx.module import Port
from strop.runtime.dispatch import Dispatcher, Hot
from strop.runtime.program import NativeProgram
from strop.runtime.state import ModuleState

Array = np.ndarray[Any, np.dtype[Any]]
Like = tuple[tuple[int, ...], np.dtype[Any]]
#: bytes of outputs that are kept for the next call
LARGEST_KEPT = 2**18
#: bytes of an input up to which copying it takes less time than asking where it is
LARGEST_COPIED = 2**13
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

    def fits(self, args: Sequence[Any], state: ModuleState, call_hooks: Sequence[Any]) -> bool:
        return (
            len(args) == self.count
            and not torch.is_grad_enabled()
            and all(isinstance(args[i], Tensor) and torch.equal(args[i], value) for i, value in self.values)
            and serves(self.hot, [args[i] for i in self.free], state, call_hooks)
        )


def serves(hot: Hot, tensors: Sequence[Tensor], state: ModuleState, call_hooks: Sequence[Any]) -> bool:
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


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A large array starts where a cache line does, as NumPy's own need not."""
    if prod(shape) * dtype.itemsize < LARGEST_COPIED:
        return np.empty(shape, dtype)
    return torch.empty(shape, dtype=_from_numpy(np.empty(0, dtype)).dtype).numpy()


class _Desk:
    """What one call works on: arrays for the small inputs and for the outputs, with all their addresses."""

    def __init__(self, inputs: Sequence[Array | None], outputs: Sequence[Like]) -> None:
        self.inputs = inputs
        self.addresses = [0 if array is None else array.ctypes.data for array in inputs]
        self.likes = outputs
        self.renew()

    def renew(self) -> None:
        self.outputs = [_empty(*like) for like in self.likes]
        self.places = [array.ctypes.data for array in self.outputs]


class Arrays:
    """The short way for arrays by name, of the types and shapes (bound ones: the very bytes) of the last call."""

    def __init__(self, hot: Hot, inputs: Sequence[tuple[str, Array, bool]], outputs: tuple[str, ...]) -> None:
        self.hot = hot
        free = [array for _, array, bound in inputs if not bound]
        places = iter(range(len(free)))
        self.inputs = [
            (name, a.dtype, a.shape, a.tobytes() if bound else None, -1 if bound else next(places))
            for name, a, bound in inputs
        ]
        self.outputs = outputs
        self.single = len(outputs) == 1
        native = hot.program if isinstance(hot.program, NativeProgram) and hot.program.writes_anywhere else None
        self.likes: list[Like] = []
        if native is not None:
            self.likes = [(shape, _numpy_of(dtype)) for dtype, shape in native.results]
        little = sum(prod(shape) * dtype.itemsize for shape, dtype in self.likes) <= LARGEST_KEPT
        self.into = native.into if native and little else None
        self.small = [(a.shape, a.dtype) if a.nbytes <= LARGEST_COPIED else None for a in free]
        self.desks: list[_Desk] = []
        self.unseen = _references([np.empty(0) for _ in self.likes]) if _COUNTS else None
        parts = [hot.spec] if self.single else hot.spec.children()
        self.finish = [None if part.is_leaf() else part.unflatten for part in parts]
        self.plain = not any(self.finish)

    @classmethod
    def of(
        cls, feeds: Mapping[str, Any], names: Sequence[str], args: Sequence[Any], outputs: Sequence[tuple[Port, Any]],
        usual: Usual | None, dispatcher: Dispatcher, call_hooks: Sequence[Any],
    ) -> Arrays | str:  # fmt: skip
        """Made after a call; the reason where its long way is needed again."""
        arrays = [feeds.get(name) for name in names[: len(args)]]
        if len(arrays) != len(feeds) or not all(type(a) is np.ndarray and is_plain(a.dtype) for a in arrays):
            return "an input is no array of a type that programs take as it is"
        carried = next((port.name for port, _ in outputs if port.element_type in CARRIERS), None)
        if carried is not None:
            return f"the output `{carried}` has to be converted"
        hot, bound = dispatcher.hot, frozenset[int]()
        if usual is not None and usual.fits(args, dispatcher.state, call_hooks):
            hot, bound = usual.hot, frozenset(i for i, _ in usual.values)
        elif hot is None or len(args) != hot.count or not serves(hot, args, dispatcher.state, call_hooks):
            return "the program's calls cannot be told apart by their arguments alone"
        parts = [hot.spec] if len(outputs) == 1 else hot.spec.children()
        if len(parts) != len(outputs) or any(part.num_leaves != 1 for part in parts):
            return "an output is no tensor"
        inputs = [(name, array, i in bound) for i, (name, array) in enumerate(zip(names, arrays))]
        made = cls(hot, inputs, tuple(port.name for port, _ in outputs))  # type: ignore[arg-type]
        direct = made.into is not None or all(_plain(result) for _, result in outputs)
        return made if direct else "NumPy lacks the element type of an output"

    def __call__(
        self, feeds: Mapping[str, Any], state: ModuleState, call_hooks: Sequence[Any]
    ) -> dict[str, Any] | None:
        """The outputs, or None where this call differs from the last one."""
        hot = self.hot
        if (
            len(feeds) != len(self.inputs)
            or hot.same is not state.same
            or hot.threads != _get_num_threads()
            or any(call_hooks)
            or not hot.same()
        ):
            return None
        if self.into is None:
            return self._through_tensors(feeds)
        try:
            desk = self.desks.pop()
        except IndexError:
            desk = _Desk([like and np.empty(*like) for like in self.small], self.likes)
        addresses, own = desk.addresses, desk.inputs
        for name, dtype, shape, value, place in self.inputs:
            array = feeds.get(name)
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                return None
            if value is not None:
                if array.tobytes() != value:
                    return None
            elif (copy := own[place]) is not None:
                copy[...] = array
            elif array.flags.c_contiguous and array.flags.aligned:
                addresses[place] = array.ctypes.data
            else:
                return None
        if _references(desk.outputs) != self.unseen:
            desk.renew()
        self.into(addresses, desk.places)
        results: list[Any] = desk.outputs
        if not self.plain:
            results = [value if finish is None else finish([value]) for value, finish in zip(results, self.finish)]
        found = {self.outputs[0]: results[0]} if self.single else dict(zip(self.outputs, results))
        self.desks.append(desk)
        return found

    def _through_tensors(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """Large outputs are tensors of their own, and so are those of programs with steps in the library."""
        hot = self.hot
        tensors = []
        for name, dtype, shape, value, _ in self.inputs:
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
        if _function_modes() or not hot.check(*tensors):
            return None
        if self.single:
            return {self.outputs[0]: hot.run(tuple(tensors)).numpy()}
        return {name: tensor.numpy() for name, tensor in zip(self.outputs, hot.run(tuple(tensors)))}


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type go into a program as they are."""
    return dtype.kind in "fib" and dtype != np.float16


def _numpy_of(dtype: torch.dtype) -> np.dtype[Any]:
    return torch.empty(0, dtype=dtype).numpy().dtype


def _plain(result: Any) -> bool:
    """Whether NumPy has the result's element type."""
    return isinstance(result, Tensor) and result.dtype != torch.bfloat16
