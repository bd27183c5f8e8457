"""From a call's arguments to the variant that serves it, or to eager with the reason why.

A call that looks like the last one takes the short way (`Hot`): one C++ check of all tensors, one flat look at the
module's state, and the program. It covers whatever is in the tensors' dispatch keys too (autocast, inference mode,
functorch, tracing), since those keys are part of the C++ check. Everything else takes the long way through `call`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch._C._dynamo.guards import TensorGuards
from torch.nn.modules import module as hooks
from torch.utils import _pytree as pytree

from strop.core.garbage import short_lived
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.core.process_memory import trim
from strop.graph.ir import Graph
from strop.runtime.guards import differentiates
from strop.runtime.packed import PackedStore, dense
from strop.runtime.release import first_released, release
from strop.runtime.shallow_clone import shallow_clone
from strop.runtime.specializations import Build, Eager, RunnableProgram, Specialization, Specializations, Trace, refusal
from strop.runtime.state import ModuleState, Snapshot
from strop.runtime.threads import is_forked

ALONE = "runs on one thread: this process was forked, and the pool of threads stayed behind"
_PLAIN_TENSORS = (Tensor, nn.Parameter, nn.Buffer)
_BY_VALUE = (bool, int, str, bytes, complex, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


@runtime_checkable
class LetsGo(Protocol):
    """A module that holds its parameters in other places as well."""

    def let_go(self) -> None:
        """Hold them in no other place any more."""


class Trains(Protocol):
    """Serves the calls of a module that need gradients."""

    partial: bool

    def wanted(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call needs gradients."""

    def on(self, model: nn.Module) -> Trains:
        """The same for another module."""

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Compile for example inputs."""

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Results with gradients."""


@dataclass(frozen=True, slots=True)
class Hot:
    """What must hold for a call to be served by `run` at once; never made for programs that write to anything."""

    count: int
    check: Callable[..., bool]
    same: Callable[[], bool]
    threads: int
    run: Callable[[tuple[Tensor, ...]], Any]
    program: (
        RunnableProgram | None
    )  # where `run` only calls it with the tensors as they come, and gives back what it gives
    spec: pytree.TreeSpec  # what is made of that


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments taken apart: the tensors in order, and everything else as part of the key."""

    key: Hashable
    tensors: Sequence[Tensor]


@dataclass(frozen=True, slots=True)
class Left:
    """Calls go to eager at once. Eager is never wrong, so only what would change the decision is looked at."""

    weight: Tensor
    dtype: torch.dtype

    @classmethod
    def by(cls, snapshot: Snapshot) -> Left | None:
        """By the module's largest tensor of half precision, as long as it is of that dtype."""
        half = [t for t in snapshot.tensors.values() if t.dtype in (torch.float16, torch.bfloat16)]
        largest = max(half, key=Tensor.numel, default=None)
        return None if largest is None else cls(largest, largest.dtype)

    def holds(self) -> bool:
        return self.weight.dtype is self.dtype


class Dispatcher:
    """Serves the calls of one module."""

    def __init__(self, model: nn.Module, options: Options, journal: Journal, trace: Trace, build: Build) -> None:
        self.model = model
        self.options = options
        self.journal = journal
        self.trace = trace
        self.build = build
        self.state = ModuleState(model)
        self.variants = Specializations(options.max_variants)
        self.store = PackedStore()
        self.hot: Hot | None = None
        self.left: Left | None = None
        self.trainer: Trains | None = None  # None: calls that need gradients run eager
        self._eager_forms: dict[Hashable, str] = {}  # forms of the module, and dtypes, that run eager for any shape
        self._name = type(model).__name__
        self._settled = -1  # the epoch in which everything was released that can be
        self._said: set[str] = set()

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compile the first variant for example inputs; a `Problem` says what stands in the way."""
        arguments = take_apart(args, kwargs)
        snapshot = self.state.current()
        if isinstance(arguments, str):
            raise Problem("STR001", arguments,
                          help="dense tensors and plain values (numbers, strings, None) can be compiled")  # fmt: skip
        if snapshot.obstacle:
            raise Problem("STR103", snapshot.obstacle.why, help=snapshot.obstacle.help)
        if snapshot.training:
            self.journal.add("note", self._name, "compiled in training mode; call .eval() first for inference")
        form = snapshot.form
        del snapshot  # which holds parameters that are to be released
        variant = self._variant(form, arguments, args, kwargs)
        if isinstance(variant, Eager):
            self._say(variant)

    def forget(self) -> None:
        """Drop every variant: the module's Python code or attributes may have changed."""
        self.hot = self.left = None
        self._eager_forms.clear()
        self.variants.clear()

    @property
    def threads(self) -> int:
        return self.options.threads or torch.get_num_threads()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The long way: any arguments, any state."""
        if is_forked() and ALONE not in self._said:
            self._said.add(ALONE)
            self.journal.add("note", self._name, ALONE)
        if self.trainer is not None and self.trainer.wanted(args, kwargs) and not _surroundings():
            return self.trainer(args, kwargs)
        found = self._serve(args, kwargs)
        if isinstance(found, str):
            return self._eager(found, args, kwargs)
        variant, program, tensors, snapshot = found
        result = variant.run(program, tensors, snapshot, self.state.written)
        if not kwargs and variant.direct and len(tensors) == len(args) and tensors:
            self.hot = self._heated(variant, program, tensors, snapshot) or self.hot
        return result

    def hot_for(self, args: tuple[Any, ...]) -> Hot | None:
        """A short way for the tensors among these arguments, for a caller that checks the other arguments itself."""
        found = self._serve(args, {})
        if isinstance(found, str) or not found[0].direct or not found[2]:
            return None
        return self._heated(*found)

    def _serve(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Specialization, RunnableProgram, Sequence[Tensor], Snapshot] | str:
        obstacle = _surroundings()
        if obstacle:
            return obstacle
        arguments = take_apart(args, kwargs)
        if isinstance(arguments, str):
            return arguments
        snapshot = self.state.current()
        if snapshot.obstacle:
            return snapshot.obstacle.why
        if torch.is_grad_enabled() and _needs_grad(arguments.tensors, snapshot):
            return "gradients are needed; call it under torch.no_grad() or torch.inference_mode()"
        threads = self.threads
        try:
            variant = self.variants.find(snapshot.form, arguments.key, arguments.tensors)
            if variant is None:
                form = snapshot.form
                del snapshot
                variant = self._variant(form, arguments, args, kwargs)
                snapshot = self.state.current()
            if isinstance(variant, str):
                return variant
            variant.compile(threads)
            if self.options.release and self._settled != snapshot.epoch:
                self._release(variant, snapshot)
                snapshot = self.state.current()
        except MemoryError:
            raise
        except Exception as error:
            return refusal(error)
        program = variant.ready(threads, snapshot)
        if variant.overlap(arguments.tensors, snapshot):
            return "a tensor that is written to shares memory with another one"
        return variant, program, arguments.tensors, snapshot

    def _variant(
        self, form: int, arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Specialization | str:
        kind = form, tuple(tensor.dtype for tensor in arguments.tensors)
        known = self._eager_forms.get(kind)
        if known is not None:
            return known
        of = form, arguments.key, arguments.tensors
        made = self.variants.make(*of, lambda: self._trace(arguments, args, kwargs))
        if isinstance(made, Eager):
            self._eager_forms[kind] = made
            self.left = Left.by(self.state.current())
        return made

    def _trace(self, arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | Eager:
        shapes = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in arguments.tensors)
        with self.journal.step("compile a variant", model=self._name, inputs=shapes):
            made = self._traced_and_built(args, kwargs)
            trim()
            return made

    def _traced_and_built(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | Eager:
        with short_lived(), torch.inference_mode(False), torch.no_grad():
            traced = self.trace(shallow_clone(self.model), args, dict(sorted(kwargs.items())))
        if traced.eager:
            return Eager(traced.eager)
        if traced.lifted:
            self.state.watch(traced.lifted)
        variant = Specialization(traced, self._built, self.store)
        del traced
        variant.compile(self.threads)
        if self.options.release:
            self._release(variant, self.state.current())
        variant.ready(self.threads, self.state.current())
        return variant

    def _built(self, graph: Graph, threads: int) -> RunnableProgram:
        return self.build(graph, self.options, self.journal, threads)

    def _release(self, variant: Specialization, snapshot: Snapshot) -> None:
        """Give up what this variant packs and no program reads as it is, once it is packed."""
        needed = _held(snapshot, variant.needed.union(*(made.needed for made in self.variants.made)))
        packed = _held(snapshot, variant.packed) - needed
        names = {name for name, tensor in snapshot.tensors.items() if id(tensor) in packed}  # a tied one has several
        gone = release(self.model, snapshot.tensors, snapshot.values, names)
        if gone:
            self.hot = None
            if isinstance(self.model, LetsGo):
                self.model.let_go()
            size = sum(tensor.nbytes for tensor in gone)
            self.journal.add("note", self._name, f"released {size / 1e6:.1f} MB of parameters", bytes=size)
            del snapshot
            gc.collect()  # what tracing leaves behind holds parameters, too
        self._settled = self.state.current().epoch

    def _heated(
        self, variant: Specialization, program: RunnableProgram, tensors: Sequence[Tensor], snapshot: Snapshot
    ) -> Hot | None:
        same, threads = self.state.same, torch.get_num_threads()
        if self.state.snapshot is not snapshot or torch._C._len_torch_function_stack():
            return None
        sizes: Any = [list(t.shape) for t in tensors]
        strides: Any = [list(t.stride()) for t in tensors]
        guards = TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)
        plain = variant.in_order and all(dense(t) is t for t in tensors)
        run = _runner(variant, program, tensors)
        return Hot(len(tensors), guards.check, same, threads, run, program if plain else None, variant.spec)

    def _eager(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        gone = first_released(self.model) if self.options.release else None
        if gone is not None:
            gone.refuse(f"the original module would have to run ({reason.splitlines()[0]})")
        result = self.model(*args, **kwargs)  # where it raises, the caller's arguments were wrong: nothing to tell
        self._say(reason)
        return result

    def _say(self, reason: str) -> None:
        if reason not in self._said:
            self._said.add(reason)
            alarming = "variant" in reason
            (self.journal.warn if alarming else self.journal.add)("fallback", self._name, f"runs eager: {reason}")


def take_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | str:
    """The arguments' key and tensors, or why they cannot be compiled for."""
    spec: Hashable = len(args)
    leaves: Sequence[Any] = args
    if kwargs or not all(type(arg) is Tensor for arg in args):
        leaves, spec = pytree.tree_flatten((args, dict(sorted(kwargs.items()))))
    tensors = []
    parts: list[Hashable] = [spec]
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            if type(leaf) not in _PLAIN_TENSORS:
                return f"an argument is a {type(leaf).__name__}"
            if not leaf.is_cpu or leaf.layout is not torch.strided:
                return f"an argument is a {leaf.layout} tensor on `{leaf.device}`"
            tensors.append(leaf)
            parts.append((leaf.shape, leaf.dtype))
        elif isinstance(leaf, float):
            parts.append((float, leaf.hex()))
        elif isinstance(leaf, _BY_VALUE):
            parts.append((type(leaf), leaf))
        else:
            return f"an argument is a {type(leaf).__name__}"
    return Arguments(tuple(parts), tensors)


def _surroundings() -> str:
    """What around the call forbids native code; mirrors what `Hot.check` sees in the dispatch keys."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "under a functorch transformation"
    if torch._C._len_torch_dispatch_stack():
        return "under a dispatch mode"
    if differentiates():
        return "under forward-mode differentiation"
    if torch._C._is_any_autocast_enabled():
        return "under autocast"
    if hooks._global_forward_hooks or hooks._global_forward_pre_hooks:
        return "global forward hooks are registered"
    if torch._C._len_torch_function_stack() and not _only_cpu_contexts():
        return "under a torch function mode"
    return ""


def _only_cpu_contexts() -> bool:
    """`with torch.device("cpu")` and `set_default_device("cpu")` are function modes that change nothing here."""
    modes = torch.overrides._get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    contexts = torch.utils._device.DeviceContext
    return all(isinstance(mode, contexts) and mode.device.type == "cpu" for mode in modes)


def _held(snapshot: Snapshot, names: set[str]) -> set[int]:
    """The ids of the tensors of these names."""
    return {id(snapshot.tensors[name]) for name in names if name in snapshot.tensors}


def _needs_grad(tensors: Sequence[Tensor], snapshot: Snapshot) -> bool:
    return any(t.requires_grad for t in tensors) or any(t.requires_grad for t in snapshot.tensors.values())


def _runner(
    variant: Specialization, program: RunnableProgram, tensors: Sequence[Tensor]
) -> Callable[[tuple[Tensor, ...]], Any]:
    """The short way's last step. Strides are part of the check, so whether to copy is decided here, once."""
    finish = variant.finish
    one: Callable[[tuple[Tensor, ...]], Any] | None = getattr(program, "one", None)
    as_given = all(dense(t) is t for t in tensors)
    if as_given and variant.single:
        return one or (lambda args: program(args)[0])
    if as_given:
        return lambda args: finish(args, {}, program(args))
    return lambda args: finish(args, {}, program([dense(arg) for arg in args]))
