"""`compile`: checks what the caller gave, compiles the first variant and returns the module."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils import _pytree as pytree

from strop.core.extensions import registry
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.graph.ir import Graph
from strop.runtime.diagnose import diagnosed
from strop.runtime.dispatch import Dispatcher
from strop.runtime.half_precision import reason_for_eager
from strop.runtime.module import CompiledModule
from strop.runtime.onnx.spec import require_onnx
from strop.runtime.outputs import outputs_of
from strop.runtime.release import filled, first_released
from strop.runtime.specializations import Build, RunnableProgram, Trace, Traced

if TYPE_CHECKING:
    from strop.runtime.dynamo import Backend

#: problems of capture that splitting the model with Dynamo can get around
_SPLITTABLE = ("STR101", "STR104", "STR106", "STR107")
_LAZY = (UninitializedParameter, UninitializedBuffer)


def compile(
    model: Any,
    args: Sequence[Any] | Tensor = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    partial: bool = False,
    training: bool = False,
    options: Options | None = None,
    journal: Journal | None = None,
    trace: Trace | None = None,
    build: Build | None = None,
    backend: Backend | None = None,
) -> nn.Module:
    """A module that computes what `model` computes, natively, on the same parameters.

    `args` and `kwargs` are example inputs: their shapes and dtypes decide the first variant, others are compiled when
    they first occur. A model that cannot be captured whole raises a `Problem`; with `partial`, Dynamo splits it instead
    and the pieces are compiled. With `training`, calls that need gradients are compiled, too (`runtime.trainer`), and
    first, by `backend` where one is given (both halves at once then): what is needed without gradients is compiled when
    it is first called. The path of an ONNX file (or what was read from one) goes to `runtime.onnx.model`.
    """
    options = (options or Options.from_environment()).under(torch.get_float32_matmul_precision())
    journal = journal or Journal()
    registry.load(journal)
    if is_onnx(model):
        require_onnx()
        from strop.runtime.onnx.model import compile_onnx

        given_onnx = kwargs if kwargs and not args else args
        return compile_onnx(
            model, given_onnx, shapes=shapes, options=options, journal=journal, build=build, trace=trace,
            training=training,
        )  # fmt: skip
    if isinstance(model, CompiledModule):
        model = model.original
    given, named = _checked(model, args, kwargs)
    dispatcher = Dispatcher(model, options, journal, trace or default_trace, build or default_build)
    if training:
        return _trained(dispatcher, given, named, partial, backend)
    try:
        dispatcher.prepare(given, named)
    except Problem as problem:
        if not partial or problem.code not in _SPLITTABLE:
            told = diagnosed(problem, model, given, named)
            if told is problem:
                raise
            raise told from problem
        journal.add("fallback", type(model).__name__, f"split by Dynamo: {problem.message}", where=str(problem.where))
        return _split(model, options, journal, build or default_build)
    return CompiledModule(dispatcher)


def _trained(
    dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool, backend: Backend | None
) -> CompiledModule:
    from strop.runtime.trainer import Trainer

    trainer = Trainer(dispatcher.model, dispatcher.options, dispatcher.journal, partial, backend)
    try:
        trainer.prepare(args, kwargs, backward=backend is not None)
    except Problem as problem:
        told = diagnosed(problem, dispatcher.model, args, kwargs)
        if told is problem:
            raise
        raise told from problem
    dispatcher.trainer = trainer
    return CompiledModule(dispatcher)


def unpickled(model: nn.Module, options: Options, partial: bool | None = None) -> CompiledModule:
    """A compiled module from its original; code is made (or read from the cache) at the first call. `partial` is None
    where calls that need gradients run eager."""
    dispatcher = Dispatcher(model, options, Journal(), default_trace, default_build)
    if partial is not None:
        from strop.runtime.trainer import Trainer

        dispatcher.trainer = Trainer(model, options, dispatcher.journal, partial)
    return CompiledModule(dispatcher)


def is_onnx(model: object) -> bool:
    """Whether this is a file's path, its content, or a module made of one. Nothing of ONNX is imported for that."""
    if isinstance(model, (str, os.PathLike, bytes)):
        return True
    if isinstance(model, nn.Module):
        capture = sys.modules.get("strop.frontend.onnx.module")
        return capture is not None and isinstance(model, capture.OnnxModule)
    return type(model).__name__ == "ModelProto"


def default_trace(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    if is_onnx(model):
        from strop.runtime.onnx.model import trace_onnx

        return trace_onnx(model, args, kwargs)
    from strop.frontend.torch.export import capture

    captured = capture(filled(model), args, kwargs)
    outputs = outputs_of(captured.exported)
    eager = reason_for_eager(captured.graph)
    return Traced(captured.graph, outputs, captured.out_spec, captured.constants, captured.lifted, eager)


def default_build(graph: Graph, options: Options, journal: Journal, threads: int) -> RunnableProgram:
    from strop.runtime.program import build

    return cast(RunnableProgram, build(graph, options, journal, threads))


def _split(model: nn.Module, options: Options, journal: Journal, build: Build) -> nn.Module:
    from strop.runtime.dynamo import Backend

    if options.release:
        raise Problem("STR001", "`release` needs a model that is compiled whole, not split by Dynamo",
                      help="leave it out: the pieces read the parameters that Dynamo hands them")  # fmt: skip
    return cast(nn.Module, torch.compile(model, backend=Backend(options, journal, build)))


def _checked(model: object, args: object, kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(model, nn.Module):
        raise Problem("STR001", f"`model` must be an nn.Module, got {_kind(model)}",
                      help="strop.compile(model, (x,)); wrap a function in an nn.Module")  # fmt: skip
    gone = first_released(model)
    if gone is not None:
        gone.refuse("the model was compiled before")
    if any(isinstance(tensor, _LAZY) for tensor in chain(model.parameters(), model.buffers())):
        raise Problem("STR001", "the model has lazy parameters that have no shape yet",
                      help="call it once in eager mode: model(*args)")  # fmt: skip
    if isinstance(args, Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise Problem("STR001", f"`args` must be a tuple of example inputs, got {_kind(args)}",
                      help="strop.compile(model, (x,))")  # fmt: skip
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise Problem("STR001", f"`kwargs` must be a dict of keyword arguments, got {_kind(kwargs)}",
                      help='strop.compile(model, (x,), {"mask": mask})')  # fmt: skip
    given, named = tuple(args), dict(kwargs or {})
    _check_signature(model, given, named)
    for leaf in pytree.tree_leaves((given, named)):
        if isinstance(leaf, Tensor) and not leaf.is_cpu:
            raise Problem("STR103", f"an example input lives on `{leaf.device}`",
                          help="its values do not matter: torch.zeros_like(x, device='cpu') will do")  # fmt: skip
    return given, named


def _check_signature(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    signature = inspect.signature(model.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        where = f"{type(model).__name__}.forward{signature}"
        if not args and not kwargs:
            raise Problem("STR102", "no example inputs were given", where=where,
                          help="pass a tuple with one entry per positional argument") from None  # fmt: skip
        raise Problem("STR001", f"the example inputs do not fit: {error}", where=where,
                      help="pass what you would pass to the model") from None  # fmt: skip


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
