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
from operator import is_
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from strop.core.journal import Journal, Kind
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.onnx.capture import FixedOutput, Given, Made, NeedsValues, capture
from strop.frontend.onnx.context import Maker, making
from strop.frontend.onnx.element_types import HALF, as_numpy
from strop.frontend.onnx.module import LARGEST_BOUND, OnnxModule, Port, bound
from strop.frontend.onnx.subgraphs import Rounds, Runner, SubgraphModule
from strop.runtime.compile_model import default_build
from strop.runtime.dispatch import Dispatcher, Hot, take_apart
from strop.runtime.module import CompiledModule
from strop.runtime.onnx.fast_path import Arrays, Usual, is_plain, serves
from strop.runtime.onnx.inputs import Shapes, checked, describe, examples, fitting
from strop.runtime.onnx.loop_driver import FastPaths, repeat
from strop.runtime.onnx.staged import Staged
from strop.runtime.onnx.strings import Strings
from strop.runtime.outputs import Alias, Computed, Output, PlainValue
from strop.runtime.specializations import Build, Trace, Traced

#: a floating-point input with more elements is not bound to its value
SMALLEST_DATA = 8
#: nor is one of integers (sizes, axes, paddings), unless the model does not run in stages
MOST_SIZES = 16


class Constant(PlainValue):
    """An output that is known without running anything; each call gets its own copy."""

    def value(self, given: Sequence[Tensor], state: Mapping[str, Tensor], made: Sequence[Tensor]) -> Any:
        return self.constant.clone() if isinstance(self.constant, Tensor) else self.constant


class CompiledOnnx(CompiledModule, Runner):
    """A compiled ONNX model."""

    _bound: set[int]
    _binding: bool
    _staged: Staged | None
    _usual: Usual | None
    _arrays: Arrays | None
    _accepted: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]
    _failed: dict[Hashable, Problem]
    _texts: Strings
    _told: set[str]
    ways: FastPaths

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
        self.__dict__["_told"] = set()
        self.__dict__["_texts"] = Strings(model, lambda coded: CompiledOnnx(coded, options, journal, build))
        self.__dict__["ways"] = FastPaths()
        super().__init__(Dispatcher(model, options, journal, trace or trace_onnx, build))

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self._ports)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self._model.outputs)

    def repeat(self, loop: Rounds) -> tuple[int, list[Tensor]] | None:
        return repeat(self, loop)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Mapping):
            return self.run(args[0])
        if self._staged is not None and not kwargs and not any(self._call_hooks) and not is_compiling():
            return self._staged(*self._fitting(args))
        usual = self._usual
        try:
            if usual is not None and not kwargs and usual.fits(args, self._dispatcher.state, self._call_hooks):
                return usual.hot.run(tuple([args[i] for i in usual.free]))
            return super().__call__(*args, **kwargs)
        except IndexError:  # a counter left the range that the program was made for, or the model is at fault
            given = self.arguments({**dict(zip(self.input_names, args)), **kwargs}) if kwargs else args
            result = self._original(*given)
            self.tell("a call ran step by step: an index left the range that the program was made for")
            return result

    def tell(self, what: str, where: str = "", kind: Kind = "fallback") -> None:
        """Note what is done the slower way, once."""
        if what not in self._told:
            self._told.add(what)
            self.journal.add(kind, where or self._model.name, what)

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
            if self._texts.reason:
                self.tell(f"texts are looked up step by step: {self._texts.reason}")
            if self._staged is None and not tensors:
                self._shorten(feeds, args, named)
        return {
            port.name: _held(value, port) if tensors else as_numpy(value, port.element_type) for port, value in named
        }

    def _shorten(self, feeds: Mapping[str, Any], args: Sequence[Any], results: Sequence[tuple[Port, Any]]) -> None:
        """Prepare for more calls like this one, which was just made."""
        found = Arrays.of(feeds, self.input_names, args, results, self._usual, self._dispatcher, self._call_hooks)
        if isinstance(found, str):
            self.tell(f"calls with arrays go through all checks every time: {found}", kind="note")
            return
        self.__dict__["_arrays"] = found

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
        self._check_present([feeds.get(port.name) for port in self._ports])
        args = [checked(feeds.get(port.name), port) for port in self._ports]
        while len(args) > self._model.required and args[-1] is None:
            args.pop()
        given = [(port.name, feeds.get(port.name)) for port in self._ports[: len(args)]]
        arrays = [(name, value) for name, value in given if isinstance(value, np.ndarray) and is_plain(value.dtype)]
        if len(arrays) == len(given):
            self.__dict__["_accepted"] = tuple((name, array.dtype, array.shape) for name, array in arrays)
        return args

    def bound(self, *args: Any) -> tuple[Any, ...]:
        """The arguments as the compiled program wants them: those that decide its shape as values."""
        with making(self._maker):
            return self._prepared(args)

    def prepare(self, *args: Any, binding: bool = True) -> None:
        """Compile the variant for these inputs now; without `binding`, not if the program depends on their values."""
        with making(self._maker):
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

    def learn(self) -> None:
        """Let the initialisers learn: calls that need gradients are compiled from now on."""
        from strop.runtime.onnx.training import OnnxTrainer

        self._dispatcher.trainer = OnnxTrainer(self._model, self._dispatcher.options, self.journal)

    def prepare_training(self, *args: Any) -> None:
        """Compile forward and backward for these inputs now."""
        assert self._dispatcher.trainer is not None
        self._dispatcher.trainer.prepare(self._fitting(args), {})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = tuple(self.arguments({**dict(zip(self.input_names, args)), **kwargs}))
        args = self._fitting(args)
        trainer = self._dispatcher.trainer
        if trainer is not None and trainer.wanted(args, {}):
            return trainer(args, {})
        if self._staged is not None:
            return self._staged(*args)
        with making(self._maker):
            try:
                prepared = self._prepared(args)
            except Problem as problem:
                return self._uncaptured(args, problem)
            if prepared is not args:
                self.__dict__["_usual"] = Usual.of(args, prepared, self._dispatcher)
            return super().forward(*prepared)

    @property
    def _maker(self) -> Maker:
        """Bodies are compiled like the model that they are of."""
        like = self._dispatcher
        key = f"{like.options.code_key} {like.options.threads} {like.options.cache}"
        return Maker(key, lambda part: CompiledOnnx(part, like.options, like.journal, like.build, binding=False))

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

    def _fitting(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments by position, as the file declares them. What a part gets was checked when the model got it."""
        if isinstance(self._model, SubgraphModule):
            return args
        self._check_present(args)
        found = tuple([fitting(arg, port) for arg, port in zip(args, self._ports)])
        return args if all(map(is_, found, args)) else (*found, *args[len(found) :])

    def _check_present(self, args: Sequence[Any]) -> None:
        for port, arg in zip(self._ports[: self._model.required], args):
            if arg is None and port.kind != "optional":
                raise Problem("STR105", f"the input `{port.name}` is missing", help=self._expected())

    def _uncaptured(self, args: tuple[Any, ...], problem: Problem) -> Any:
        """A call that no single program serves: in stages where preparing it found some, else step by step."""
        if self._staged is not None:
            return self._staged(*args)
        result = self._original(*args)  # where it raises, it is not for the want of native code: nothing to tell
        self.journal.warn("fallback", self._model.name, f"runs eager: {problem}")
        return result

    def _divide(self, args: tuple[Any, ...], needs: NeedsValues) -> None:
        """Prepare to run in stages what cannot be captured whole."""
        if self._staged is not None:
            return
        try:
            self.__dict__["_staged"] = Staged(self._model, args, needs, self._part, self.tell)
        except NeedsValues:
            return
        self.journal.add("note", self._model.name, f"runs in stages: {needs.problem.message}",
                         where=str(needs.problem.where))  # fmt: skip

    def _part(self, part: SubgraphModule, bound: set[int] | None = None, variants: int = 0) -> CompiledOnnx:
        """A part of this model. Values that change from call to call are no part of its program, unless `bound`.

        The caller's set stays the part's own: it tells which inputs these are by now.
        """
        like = self._dispatcher
        options = replace(like.options, max_variants=max(like.options.max_variants, variants), release=False)
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
        made = CompiledOnnx(copy.deepcopy(self._model, memo), like.options, like.journal, like.build)
        if like.trainer is not None:
            made.learn()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._original, self._dispatcher.options, self._dispatcher.trainer is not None)


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
    own = isinstance(model, SubgraphModule) and model.inner
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
    training: bool = False,
) -> CompiledOnnx:
    """Compile a model from a path, bytes or a ModelProto; with `training`, calls that need gradients, too.

    The first variant is compiled at once when its shapes are known: from `args`, from `shapes`, or from the file.
    """
    model = source if isinstance(source, OnnxModule) else OnnxModule(source, _name(source), training=training)
    options, journal = options or Options.from_environment(), journal or Journal()
    made = CompiledOnnx(model, options, journal, build or default_build, trace)
    if training:
        made.learn()
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
    if given is not None and training:
        made.prepare_training(*given)
    elif given is not None:
        try:
            made.prepare(*made._fitting(tuple(given)), binding=not invented)
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
    found = CompiledOnnx(model, Options.from_environment(), Journal(), default_build).bound(*given)
    if model.kept:  # whoever compiles the model compiles its bodies too, by options of their own
        model.pending.captured.clear()
    return model, found


def _output(output: FixedOutput | Given | Made, *, shared: bool) -> Output:
    """Results that are inputs or constants are copied, unless the caller may share them."""
    if isinstance(output, Made):
        return Computed(output.index)
    if isinstance(output, Given):
        return Alias(output.source, () if shared else (torch.clone,))
    return PlainValue(output.value) if shared else Constant(output.value)


def _bindable(value: Any, most: int = MOST_SIZES) -> bool:
    """Inputs of more than a few elements are data that changes with every call."""
    return isinstance(value, Tensor) and value.numel() <= (SMALLEST_DATA if value.is_floating_point() else most)


def _held(value: Any, port: Port) -> Any:
    """A result as a tensor of the declared type where torch has it."""
    return value.to(torch.float16) if isinstance(value, Tensor) and port.element_type == HALF else value


def _name(source: Any) -> str:
    return os.fspath(source).rsplit("/", 1)[-1].removesuffix(".onnx") if isinstance(source, (str, os.PathLike)) else ""


def _unpickled(model: OnnxModule, options: Options, learns: bool = False) -> CompiledOnnx:
    made = CompiledOnnx(model, options, Journal(), default_build)
    if learns:
        made.learn()
    return made
