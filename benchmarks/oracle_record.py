"""What a model really computes: every torch function of a run, with its values, its data flow and its source lines.

`Recording` is a TorchFunctionMode. Each call becomes an `Op` whose arguments name earlier *values*; a value is a
tensor at one moment, so an in-place operation makes a new value of the same tensor. Operations that hand back the
very tensor they were given (dropout in evaluation, `.to` of the same type) make no value. Any part of the recording
can be run again on other data (`replay`), which is how the recognisers ask what a piece of code computes without
looking at its text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

_NO_FRAMES = ("/utils/", "/integrations/hub_kernels", "/modeling_layers", "/modeling_utils")


@dataclass(frozen=True)
class Ref:
    """A value, by its number."""

    number: int


@dataclass(frozen=True)
class Frame:
    """A line of the scanned package that was being executed."""

    file: str  #: relative to the package
    function: str
    first: int
    last: int
    call: int  #: which call of the function


@dataclass(frozen=True)
class Op:
    """One executed torch function."""

    index: int
    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    frames: tuple[Frame, ...]  #: innermost first
    modules: tuple[tuple[str, str], ...]  #: path and class of the modules that were running, innermost first


@dataclass
class Recording(TorchFunctionMode):
    """Use as a context around a call of the model; afterwards `ops`, `values`, `lines` hold what happened."""

    package: str
    ops: list[Op] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    lines: dict[str, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, int] = {}  # id of a tensor → its current value
        self._alive: list[torch.Tensor] = []  # so that no id is used twice
        self.producer: dict[int, Op] = {}
        self.consumers: dict[int, list[Op]] = {}
        self.fixed: set[int] = set()  # values that were never computed: parameters, buffers, constants
        self.parameters: set[int] = set()
        self.given: set[int] = set()
        self._modules: list[tuple[str, str]] = []
        self._handles: list[Any] = []
        self._stack: list[
            tuple[FrameType, int]
        ] = []  # outermost first; held, so that a frame is not mistaken for another
        self._calls = 0

    def watch(self, model: torch.nn.Module) -> None:
        """Know the model's parameters and which module runs."""
        for tensor in (*model.parameters(), *model.buffers()):
            self.parameters.add(self._number(tensor))
        for path, module in model.named_modules():
            entry = (path, type(module).__name__)
            self._handles.append(module.register_forward_pre_hook(lambda *_, entry=entry: self._modules.append(entry)))
            self._handles.append(
                module.register_forward_hook(lambda *_: self._modules.pop() and None, always_call=True)
            )

    def give(self, inputs: Any) -> None:
        """Know what the model was called with."""
        self.given.update(self._number(tensor) for tensor in tensors_in(inputs))

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _name(func)
        if name is None:
            return func(*args, **kwargs)
        changed = _target(name, args)
        old = self._number(changed) if changed is not None else None
        if changed is not None and old is not None:
            self.values[old] = changed.detach().clone()
        seen = list(tensors_in((args, kwargs)))
        stored = self._stored(args), {key: self._stored(value) for key, value in kwargs.items()}
        reads = tuple(self._number(tensor) for tensor in seen)
        result = func(*args, **kwargs)
        given = {id(tensor) for tensor in seen}
        if changed is not None:
            made = [changed]
        else:
            made = [tensor for tensor in tensors_in(result) if id(tensor) not in given]
        if made:
            self._add(name, func, stored, reads, made)
        return result

    def _add(self, name: str, func: Any, stored: Any, reads: tuple[int, ...], made: list[torch.Tensor]) -> None:
        writes = []
        for tensor in made:
            number = len(self.values)
            self.values.append(tensor.detach())
            self._alive.append(tensor)
            self._numbers[id(tensor)] = number
            writes.append(number)
        frames = self._frames(sys._getframe(2))
        modules = tuple(reversed(self._modules))
        op = Op(len(self.ops), name, func, stored[0], stored[1], reads, tuple(writes), frames, modules)
        self.ops.append(op)
        for number in writes:
            self.producer[number] = op
        for number in dict.fromkeys(reads):
            self.consumers.setdefault(number, []).append(op)

    def _number(self, tensor: torch.Tensor) -> int:
        found = self._numbers.get(id(tensor))
        if found is None:
            found = self._numbers[id(tensor)] = len(self.values)
            self.values.append(tensor.detach())
            self._alive.append(tensor)
            self.fixed.add(found)
            if isinstance(tensor, torch.nn.Parameter):
                self.parameters.add(found)
        return found

    def _stored(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return Ref(self._number(value))
        if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
            return tuple(self._stored(each) for each in value)
        return value

    def _frames(self, frame: FrameType | None) -> tuple[Frame, ...]:
        running = []
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self.package) and not any(part in file for part in _NO_FRAMES):
                running.append(frame)
            frame = frame.f_back
        stack: list[tuple[FrameType, int]] = []
        for known, here in zip(self._stack, reversed(running), strict=False):
            if known[0] is not here:
                break
            stack.append(known)
        for here in list(reversed(running))[len(stack) :]:
            self._calls += 1
            stack.append((here, self._calls))
        self._stack = stack
        return tuple(self._frame(here, call) for here, call in reversed(stack))

    def _frame(self, frame: FrameType, call: int) -> Frame:
        file = frame.f_code.co_filename[len(self.package) :].lstrip("/")
        return Frame(file, _qualified(frame), *_span(frame), call)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`: which lines of the package were executed."""
        file = frame.f_code.co_filename
        if not file.startswith(self.package):
            return None
        lines = self.lines.setdefault(file[len(self.package) :].lstrip("/"), set())

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        lines.add(frame.f_lineno)
        return line

    def replay(self, wanted: int, given: dict[int, torch.Tensor]) -> torch.Tensor:
        """What a value becomes when other values are replaced; only operations in between are run again."""
        known: dict[int, torch.Tensor] = dict(given)
        earliest = min(given)
        with torch.no_grad():
            for op in self.between(wanted, given, earliest):
                result = op.call(*_filled(op.args, known, self.values), **_filled_dict(op.kwargs, known, self.values))
                made = [known.get(op.reads[0])] if result is None else list(tensors_in(result))
                for number, tensor in zip(op.writes, made, strict=False):
                    known[number] = tensor
        return known[wanted]

    def between(self, wanted: int, given: dict[int, Any], earliest: int) -> list[Op]:
        """Operations that lead from the given values to the wanted one, in order."""
        needed: dict[int, Op] = {}
        depends: dict[int, bool] = {}

        def visit(number: int) -> bool:
            if number in given:
                return True
            if number in depends:
                return depends[number]
            depends[number] = False
            op = self.producer.get(number)
            if op is None or number < earliest:
                return False
            found = [visit(read) for read in op.reads]
            if any(found):
                needed[op.index] = op
                depends[number] = True
            return depends[number]

        visit(wanted)
        return [needed[index] for index in sorted(needed)]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors_in(each)


def _filled(stored: Any, known: dict[int, torch.Tensor], values: list[torch.Tensor]) -> Any:
    if isinstance(stored, Ref):
        return known.get(stored.number, values[stored.number])
    if isinstance(stored, tuple) and not isinstance(stored, torch.Size):
        return tuple(_filled(each, known, values) for each in stored)
    return stored


def _filled_dict(stored: dict[str, Any], known: dict[int, torch.Tensor], values: list[torch.Tensor]) -> dict[str, Any]:
    return {key: _filled(value, known, values) for key, value in stored.items()}


def _name(func: Any) -> str | None:
    """The function's short name; None for reading an attribute such as `shape`."""
    name = getattr(func, "__name__", "") or ""
    if name in (
        "__get__",
        "__set__",
        "size",
        "dim",
        "stride",
        "storage_offset",
        "is_contiguous",
        "numel",
        "item",
        "tolist",
    ):
        if name == "__get__" and (resolve_name(func) or "").split(".")[-2:-1] in (
            ["T"],
            ["mT"],
            ["H"],
            ["real"],
            ["imag"],
        ):
            return "transpose"
        return None
    return name


def _target(name: str, args: tuple[Any, ...]) -> torch.Tensor | None:
    """The tensor that an in-place operation changes."""
    inplace = name == "__setitem__" or (name.startswith("__i") and name not in ("__invert__", "__index__", "__int__"))
    inplace = inplace or (name.endswith("_") and not name.startswith("__") and not name.endswith("__"))
    if not inplace or name in ("requires_grad_", "retain_grad_") or not args or not isinstance(args[0], torch.Tensor):
        return None
    return args[0]


def _span(frame: FrameType) -> tuple[int, int]:
    positions = list(frame.f_code.co_positions())
    first, last, _, _ = positions[frame.f_lasti // 2]
    first = first or frame.f_lineno
    return first, last or first


def _qualified(frame: FrameType) -> str:
    return frame.f_code.co_qualname.replace("<locals>.", "")


def record(model: torch.nn.Module, inputs: dict[str, Any], package: str | Path) -> Recording:
    """One call of a model, recorded."""
    recording = Recording(str(package))
    recording.watch(model)
    recording.give(inputs)
    previous = sys.gettrace()
    try:
        with torch.no_grad(), recording:
            sys.settrace(recording.trace)
            model(**inputs)
    finally:
        sys.settrace(previous)
        recording.close()
        recording._stack = []
    return recording
