"""What `strop.compile("model.onnx")` returns: called by name with arrays, or like any module with tensors.

    run = strop.compile("model.onnx")
    run({"x": array})          # → {"y": array}: NumPy in, NumPy out; tensors in, tensors out
    run(tensor)                # → tensor, or a tuple of them: as an nn.Module

A variant is compiled for the first call of each set of input shapes. Inputs whose values decide shapes inside the model
(the shape of a Reshape, the axes of a reduction) are bound to their values, one variant each.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from strop.capture.onnx import (
    LARGEST_BOUND,
    Fixed,
    Given,
    Made,
    NeedsValues,
    OnnxModule,
    Port,
    bound,
    capture,
)
from strop.capture.onnx_file import memory
from strop.capture.onnx_ops.element_types import HALF, as_numpy, carried, from_numpy
from strop.capture.onnx_parts import Part, Rounds, Runner
from strop.core.config import Options
from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.run.dispatch import Dispatcher, Hot, take_apart
from strop.run.entry import default_build
from strop.run.module import CompiledModule
from strop.run.onnx_rounds import ShortWays, repeat
from strop.run.onnx_short import Arrays, Usual, is_plain, serves
from strop.run.onnx_stages import Staged
from strop.run.onnx_texts import Texts
from strop.run.outputs import Alias, Computed, Output, Plain
from strop.run.variants import Build, Trace, Traced

#: examples with more elements are zeros, which take no memory until they are written to
LARGEST_EXAMPLE = 2**26
#: a floating-point input with more elements is not bound to its value
SMALLEST_DATA = 8
#: nor is one of integers (sizes, axes, paddings), unless the model does not run in stages
MOST_SIZES = 16
Shapes = Mapping[str, Sequence[int]]


class Constant(Plain):
    """An output that is known without running anything; each call gets its own copy."""

    def value(self, given: Sequence[Tensor], state: Mapping[str, Tensor], made: Sequence[Tensor]) -> Any:
        return self.constant.clone() if isinstance(self.constant, Tensor) else self.constant


class CompiledOnnx(CompiledModule):
    """A compiled ONNX model."""

    _bound: set[int]
    _binding: bool
    _staged: Staged | None
    _usual: Usual | None
    _arrays: Arrays | None
    _accepted: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]
    _failed: dict[Hashable, Problem]
    _texts: Texts
    ways: ShortWays

    def __init__(
        self, model: OnnxModule, options: Options, journal: Journal, build: Build, trace: Trace | None = None, *,
        binding: bool = True,
    ) -> None:  # fmt: skip
        self.__dict__["_bound"] = set()
        self.__dict__["_binding"] = binding
        self.__dict__["_staged"] = None
        self.__dict__["_usual"] = None
        self.__dict__["_arrays"] = None
        self.__dict__["_accepted"] = ()
        self.__dict__["_failed"] = {}
        self.__dict__["_texts"] = Texts(model, lambda coded: CompiledOnnx(coded, options, journal, build))
        self.__dict__["ways"] = ShortWays()
        super().__init__(Dispatcher(model, options, journal, trace or trace_onnx, build))

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self._ports)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self._model.outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Mapping):
            return self.run(args[0])
        if self._staged is not None and not kwargs and not any(self._call_hooks) and not is_compiling():
            return self._staged(*args)
        usual = self._usual
        try:
            if usual is not None and not kwargs and usual.fits(args, self._dispatcher.state, self._call_hooks):
                return usual.hot.run(tuple([args[i] for i in usual.free]))
            return super().__call__(*args, **kwargs)
        except IndexError:  # a counter left the range that the program was made for, or the model is at fault
            given = self.arguments({**dict(zip(self.input_names, args)), **kwargs}) if kwargs else args
            return self._original(*given)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, for inputs by name: arrays for arrays, tensors for tensors."""
        if self._arrays is not None and not is_compiling():
            try:
                found = self._arrays(feeds, self._dispatcher.state, self._call_hooks)
            except IndexError:
                found = None
            if found is not None:
                return found
        if self._texts.fits and (found := self._texts.run(feeds)) is not None:
            return found
        again = self._like_before(feeds)
        tensors = again is None and any(isinstance(value, Tensor) for value in feeds.values())
        args = again or self.arguments(feeds)
        with torch.no_grad():
            results = self(*args)
            outputs = self._model.outputs
            named = list(zip(outputs, (results,) if len(outputs) == 1 else results))
            if self._staged is None and not tensors:
                self.__dict__["_arrays"] = Arrays.of(
                    feeds, self.input_names, args, named, self._usual, self._dispatcher, self._call_hooks
                )
        return {
            port.name: _held(value, port) if tensors else as_numpy(value, port.element_type) for port, value in named
        }

    def _like_before(self, feeds: Mapping[str, Any]) -> list[Tensor] | None:
        """The inputs as tensors where they are arrays of the types and shapes that the last call had."""
        if len(feeds) != len(self._accepted):
            return None
        args = []
        for name, dtype, shape in self._accepted:
            value = feeds.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype or not value.flags.carray:
                return None
            args.append(torch.from_numpy(value))
        return args

    @property
    def takes_texts(self) -> bool:
        return bool(self._texts.names)

    def arguments(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The inputs in the model's order; a Problem for missing, unknown and ill-typed ones."""
        unknown = next((name for name in feeds if name not in self.input_names), None)
        if unknown is not None:
            raise Problem("STR105", f"the model has no input `{unknown}`", help=self._expected())
        missing = next((p for p in self._ports[: self._model.required] if p.name not in feeds), None)
        if missing is not None and missing.kind != "optional":
            raise Problem("STR105", f"the input `{missing.name}` is missing", help=self._expected())
        args = [_checked(feeds.get(port.name), port) for port in self._ports]
        while len(args) > self._model.required and args[-1] is None:
            args.pop()
        given = [(port.name, feeds.get(port.name)) for port in self._ports[: len(args)]]
        arrays = [(name, value) for name, value in given if isinstance(value, np.ndarray) and is_plain(value.dtype)]
        if len(arrays) == len(given):
            self.__dict__["_accepted"] = tuple((name, array.dtype, array.shape) for name, array in arrays)
        return args

    def bound(self, *args: Any) -> tuple[Any, ...]:
        """The arguments as the compiled program wants them: those that decide its shape as values."""
        return self._prepared(args)

    def prepare(self, *args: Any, binding: bool = True) -> None:
        """Compile the variant for these inputs now; without `binding`, not if the program depends on their values."""
        self._dispatcher.prepare(self._prepared(args, binding), {})

    def hot_for(self, args: Sequence[Tensor]) -> Hot | None:
        """A short way for these inputs, none of whose values decide the program; compiles it where that is new."""
        with torch.no_grad():
            self.prepare(*args)
            return self._dispatcher.hot_for(tuple(args))

    def short_way(self, args: Sequence[Any]) -> tuple[Hot, tuple[int, ...]] | None:
        """The short way of the call that was just made with these arguments, and which of them it takes."""
        if self._staged is not None or self._failed:
            return None
        if self._bound:
            return None if self._usual is None else (self._usual.hot, self._usual.free)
        with torch.no_grad():
            hot = self._dispatcher.hot_for(tuple(args))
        return None if hot is None else (hot, tuple(range(len(args))))

    def serves(self, hot: Hot, args: Sequence[Tensor]) -> bool:
        """Whether a short way serves these inputs still."""
        return serves(hot, args, self._dispatcher.state, self._call_hooks)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = tuple(self.arguments({**dict(zip(self.input_names, args)), **kwargs}))
        if self._staged is not None:
            return self._staged(*args)
        try:
            prepared = self._prepared(args)
        except Problem as problem:
            return self._uncaptured(args, problem)
        if prepared is not args:
            self.__dict__["_usual"] = Usual.of(args, prepared, self._dispatcher)
        return super().forward(*prepared)

    def _prepared(self, args: tuple[Any, ...], binding: bool = True) -> tuple[Any, ...]:
        """The arguments with those bound whose values decide the program; traces it where that is new."""
        while True:
            if self._bound:
                args = tuple(bound(a) if i in self._bound and isinstance(a, Tensor) else a for i, a in enumerate(args))
            arguments = take_apart(args, {})
            if isinstance(arguments, str):
                return args
            if self._dispatcher.variants.find(self._form, arguments.key, arguments.tensors) is not None:
                return args
            if arguments.key in self._failed:
                raise self._failed[arguments.key]
            if self._dispatcher.variants.full(self._form):
                return args
            try:
                with torch.inference_mode(False), torch.no_grad():
                    self._model.pending.captured[arguments.key] = capture(self._model, args)
                return args
            except NeedsValues as needs:
                fresh = needs.inputs - self._bound
                if not binding and fresh:
                    raise needs.problem from needs
                if self._binding and fresh and all(_bindable(args[i]) for i in fresh):
                    self._bound.update(fresh)
                    continue
            try:
                with torch.inference_mode(False), torch.no_grad():
                    self._model.pending.captured[arguments.key] = capture(self._model, args, deferring=True)
                return args
            except NeedsValues as needs:
                self._divide(args, needs)
                bindable = bool(fresh) and all(_bindable(args[i], LARGEST_BOUND) for i in fresh)
                if self._staged is None and self._binding and bindable:
                    self._bound.update(fresh)
                    continue
                self._failed[arguments.key] = needs.problem
                raise needs.problem from needs

    def _uncaptured(self, args: tuple[Any, ...], problem: Problem) -> Any:
        """A call that no single program serves: in stages where preparing it found some, else step by step."""
        if self._staged is not None:
            return self._staged(*args)
        self.journal.warn("fallback", self._model.name, f"runs eager: {problem}")
        return self._original(*args)

    def _divide(self, args: tuple[Any, ...], needs: NeedsValues) -> None:
        """Prepare to run in stages what cannot be captured whole."""
        if self._staged is not None:
            return
        try:
            self.__dict__["_staged"] = Staged(self._model, args, needs, self._part)
        except NeedsValues:
            return
        self.journal.add("note", self._model.name, f"runs in stages: {needs.problem.message}",
                         where=str(needs.problem.where))  # fmt: skip

    def _part(self, part: Part, bound: set[int] | None = None, variants: int = 0) -> CompiledOnnx:
        """A part of this model. Values that change from call to call are no part of its program, unless `bound`.

        The caller's set stays the part's own: it tells which inputs these are by now.
        """
        like = self._dispatcher
        options = replace(like.options, max_variants=max(like.options.max_variants, variants))
        made = CompiledOnnx(part, options, like.journal, like.build, binding=bool(bound))
        if bound:
            made.__dict__["_bound"] = bound
        return made

    @property
    def _form(self) -> int:
        return self._dispatcher.state.current().form

    @property
    def _model(self) -> OnnxModule:
        assert isinstance(self._original, OnnxModule)
        return self._original

    @property
    def _ports(self) -> tuple[Port, ...]:
        return self._model.inputs

    def _expected(self) -> str:
        return "it takes: " + ", ".join(map(describe, self._ports[: self._model.required]))

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledOnnx:
        import copy

        like = self._dispatcher
        return CompiledOnnx(copy.deepcopy(self._model, memo), like.options, like.journal, like.build)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._original, self._dispatcher.options)


def trace_onnx(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """The capture that is pending for these arguments, or a new one."""
    arguments = take_apart(args, kwargs)
    assert not isinstance(arguments, str) and isinstance(model, OnnxModule)
    captured = model.pending.captured.pop(arguments.key, None)
    if captured is None:
        try:
            captured = capture(model, args, deferring=True)
        except NeedsValues as needs:
            raise needs.problem from needs
    own = isinstance(model, Part) and model.inner
    outputs = tuple(_output(output, shared=own) for output in captured.outputs)
    return Traced(captured.graph, outputs, captured.out_spec, captured.constants)


def compile_onnx(
    source: Any,
    args: Sequence[Any] | Mapping[str, Any] | Tensor = (),
    *,
    shapes: Shapes | None = None,
    options: Options | None = None,
    journal: Journal | None = None,
    build: Build | None = None,
    trace: Trace | None = None,
) -> CompiledOnnx:
    """Compile a model from a path, bytes or a ModelProto.

    The first variant is compiled at once when its shapes are known: from `args`, from `shapes`, or from the file.
    """
    model = source if isinstance(source, OnnxModule) else OnnxModule(source, _name(source))
    options, journal = options or Options.from_environment(), journal or Journal()
    made = CompiledOnnx(model, options, journal, build or default_build, trace)
    given: Sequence[Any] | None = (args,) if isinstance(args, Tensor) else ()
    if made.takes_texts and isinstance(args, Mapping) and args:
        made.run(args)
        return made
    if isinstance(args, Mapping):
        given = made.arguments(args)
    elif not isinstance(args, Tensor):
        given = tuple(args)
    invented = not given
    if invented:
        given = examples(model, shapes or {}, demand=bool(shapes))
    if given is not None:
        try:
            made.prepare(*(_tensor(value) for value in given), binding=not invented)
        except Problem as problem:
            if problem.code != "STR106":
                raise
            made.journal.add("note", model.name, f"compiled at the first call: {problem.message}")
    return made


def loaded(path: str, shapes: Shapes) -> tuple[OnnxModule, tuple[Any, ...]]:
    """A model from a file with inputs to try it on; those whose values decide the program are bound to them."""
    model = OnnxModule(path, _name(path))
    given = examples(model, shapes)
    assert given is not None
    return model, CompiledOnnx(model, Options.from_environment(), Journal(), default_build).bound(*given)


def examples(model: OnnxModule, shapes: Shapes, *, demand: bool = True) -> tuple[Tensor, ...] | None:
    """Inputs of the declared element types and shapes; None where an extent is open, or a Problem with `demand`."""
    unknown = next((name for name in shapes if name not in {port.name for port in model.inputs}), None)
    if unknown is not None:
        raise Problem("STR001", f"the model has no input `{unknown}`",
                      help="it takes: " + ", ".join(map(describe, model.inputs)))  # fmt: skip
    made = []
    generator = torch.Generator().manual_seed(0)
    for port in model.inputs[: model.required]:
        shape = tuple(shapes[port.name]) if port.name in shapes else port.static
        if shape is None or port.dtype is None:
            if not demand:
                return None
            raise Problem("STR102", f"the input {describe(port)} has no fixed shape",
                          help=f"give it: --shape {port.name}=1,3,224,224, or shapes={{…}}")  # fmt: skip
        if prod(shape) * port.dtype.itemsize > memory():
            raise Problem("STR124", f"the input {describe(port)} is larger than this machine's memory",
                          where=f"input `{port.name}`", help="give it a smaller shape")  # fmt: skip
        made.append(_example(shape, port.dtype, generator))
    return tuple(made)


def _example(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    if prod(shape) > LARGEST_EXAMPLE:
        return torch.zeros(shape, dtype=dtype)
    if dtype.is_floating_point:
        return torch.rand(shape, generator=generator).to(dtype)
    return torch.ones(shape, dtype=dtype)


def describe(port: Port) -> str:
    shape = "?" if port.shape is None else ",".join("?" if e is None else str(e) for e in port.shape)
    dtype = str(port.dtype).removeprefix("torch.") if port.dtype else "string"
    dtype = "float16" if port.element_type == HALF else dtype
    return f"`{port.name}`: {dtype}[{shape}]"


def _output(output: Fixed | Given | Made, *, shared: bool) -> Output:
    """Results that are inputs or constants are copied, unless the caller may share them."""
    if isinstance(output, Made):
        return Computed(output.index)
    if isinstance(output, Given):
        return Alias(output.source, () if shared else (torch.clone,))
    return Plain(output.value) if shared else Constant(output.value)


def _bindable(value: Any, most: int = MOST_SIZES) -> bool:
    """Inputs of more than a few elements are data that changes with every call."""
    return isinstance(value, Tensor) and value.numel() <= (SMALLEST_DATA if value.is_floating_point() else most)


def _tensor(value: Any) -> Any:
    if isinstance(value, list):
        return [_tensor(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        return from_numpy(value)
    return value


def _held(value: Any, port: Port) -> Any:
    """A result as a tensor of the declared type where torch has it."""
    return value.to(torch.float16) if isinstance(value, Tensor) and port.element_type == HALF else value


def _checked(value: Any, port: Port) -> Any:
    """An argument as a tensor of the type that the model declares."""
    if value is None:
        return None
    if isinstance(value, (bool, int, float, np.generic)):
        value = np.asarray(value)
    given = str(getattr(value, "dtype", "")).removeprefix("torch.")
    value = carried(_tensor(value))
    if not isinstance(value, Tensor) or port.kind != "tensor" or port.dtype is None:
        return value
    if value.dtype != port.dtype or (port.element_type == HALF) != (given == "float16"):
        raise Problem("STR105", f"the input {describe(port)} was given as {given}", help="convert it first")
    if port.shape is not None and len(port.shape) != value.dim():
        raise Problem("STR105", f"the input {describe(port)} was given a shape of {list(value.shape)}",
                      help="the number of dimensions differs")  # fmt: skip
    wrong = next((i for i, e in enumerate(port.shape or ()) if isinstance(e, int) and e != value.shape[i]), None)
    if wrong is not None:
        raise Problem("STR105", f"the input {describe(port)} was given a shape of {list(value.shape)}",
                      help=f"dimension {wrong} is fixed by the model")  # fmt: skip
    return value


def _name(source: Any) -> str:
    return os.fspath(source).rsplit("/", 1)[-1].removesuffix(".onnx") if isinstance(source, (str, os.PathLike)) else ""


def _unpickled(model: OnnxModule, options: Options) -> CompiledOnnx:
    return CompiledOnnx(model, options, Journal(), default_build)


def _compiled_part(part: Part) -> CompiledOnnx:
    return CompiledOnnx(part, Options.from_environment(), Journal(), default_build, binding=False)


def _repeated(runner: Any, loop: Rounds) -> tuple[int, list[Tensor]] | None:
    return repeat(runner, loop) if isinstance(runner, CompiledOnnx) else None


def _renewed(runner: Any) -> None:
    if isinstance(runner, CompiledOnnx):
        runner.refresh()


Runner.make = _compiled_part
Runner.renew = _renewed
Runner.repeat = _repeated
