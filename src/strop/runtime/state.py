"""What a compiled graph takes for granted about its module, watched in one flat pass per call.

A `ModuleState` holds every parameter, buffer and submodule with its identity, version counter, address and training
flag. `state.same()` compares them with the last snapshot (see `guard`; no walk of the module tree). What it sees:
in-place writes, `.data = …`, `.to()`, `load_state_dict`, replaced parameters and submodules, weights that are tied or
untied, `train()`/`eval()` on any submodule, added or removed forward hooks, another `forward` of a module or of its
class. Optimiser steps announce themselves through torch's global hook, because fused ones write past the version
counters. What nobody can see (writes through `.data` views and NumPy) needs `refresh()`.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from strop.runtime.guards import Same, Seen, forwards, guard, looped, original, pointer_of, version_of
from strop.runtime.release import Released

_numbers = itertools.count(1)
_watched: weakref.WeakSet[Watched] = weakref.WeakSet()
_hook_lock = threading.Lock()
_hook_installed = False


class Obstacle(NamedTuple):
    """Why native code must not run on a module as it is, and what its owner can do about it."""

    why: str
    help: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent look at a module. Equal `form`s may share captured graphs, equal values packed weights; nothing is
    packed again within an `epoch`."""

    epoch: int
    form: int
    tensors: dict[str, Tensor]
    values: Mapping[int, int]  # by the tensors' `id`
    training: bool
    obstacle: Obstacle | None  # why native code must not run at all in this state; None when it may
    storages: tuple[Any, ...]  # kept alive, so that an address cannot come back with other contents


def new_value() -> int:
    """A number for the contents of a tensor that nothing else ever has."""
    return next(_numbers)


class Values:
    """Numbers for what tensors hold: each keeps its number until its contents may have changed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Tensor, Any, Hashable, int]] = {}

    def look(self, tensors: Sequence[Tensor], *, unseen: bool) -> dict[int, int]:
        """The numbers by `id`; new ones for all where something may have been written `unseen`.

        Tensors and their memory are held until the next look: neither an id nor an address can come back meanwhile.
        """
        known: dict[int, tuple[Tensor, Any, Hashable, int]] = {}
        for tensor in tensors:
            mark = tensor.data_ptr(), tensor._version, tensor.dtype, tensor.shape, tensor.stride()
            before = self._known.get(id(tensor))
            same = before is not None and before[2] == mark and not unseen
            number = before[3] if same and before is not None else new_value()
            known[id(tensor)] = tensor, tensor.untyped_storage(), mark, number
        self._known = known
        return {key: number for key, (_, _, _, number) in known.items()}


class Watched:
    """Something to be told when an optimiser has written to tensors at these addresses."""

    addresses: frozenset[int] = frozenset()

    def __init__(self) -> None:
        _watched.add(self)
        _watch_optimisers()

    def invalidate(self) -> None:
        raise NotImplementedError


class _Numbers:
    """A number for each object, which no other object gets: addresses come back, and with them identities."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Callable[[], Any], int]] = {}
        self._next = 0

    def of(self, value: Any) -> int:
        known, number = self._known.get(id(value), (_nothing, 0))
        if known() is value:
            return number
        self._next += 1
        self._known[id(value)] = _reference(value), self._next
        return self._next


def _nothing() -> object:
    return _nothing


def _reference(value: Any) -> Callable[[], Any]:
    """Weak where that is possible, so that modules which were replaced can go."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


class ModuleState(Watched):
    """The watched state of one module."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.lock = threading.RLock()
        self.same: Same = _never
        self.snapshot = Snapshot(0, -1, {}, {}, False, None, ())
        self._values = Values()
        self._unseen = False
        self._forms: dict[Any, int] = {}
        self._numbers = _Numbers()
        self._seen: Seen | None = None
        self._position: dict[int, int] = {}
        self._constants: dict[int, tuple[Tensor, Any]] = {}
        self._generation = 0
        super().__init__()

    def invalidate(self) -> None:
        """Something changed unseen: the next call looks at everything again and runs the parameter program."""
        with self.lock:
            self.same = _never
            self._unseen = True

    def watch(self, constants: Iterable[Tensor]) -> None:
        """Watch tensors that are baked into a graph though the module does not register them; a write is a new form."""
        with self.lock:
            for tensor in constants:
                self._constants.setdefault(id(tensor), (tensor, _mark(tensor)))
            self.same = _never

    def current(self) -> Snapshot:
        """The snapshot that describes the module now."""
        if self.same():
            return self.snapshot
        with self.lock:
            if not self.same():
                self._look()
            return self.snapshot

    def written(self, seen: Snapshot, targets: Iterable[Tensor]) -> int:
        """Take note of a program's own writes; returns the epoch that has them (`seen`'s if others wrote as well)."""
        with self.lock:
            if self.snapshot is not seen or self.same is _never or self._seen is None:
                return seen.epoch
            versions, values = self._seen.versions.copy(), dict(seen.values)
            for tensor in targets:
                position = self._position.get(id(tensor))
                if position is not None:
                    versions[position] = tensor._version
                    values[id(tensor)] = new_value()
            self.snapshot = replace(seen, epoch=seen.epoch + 1, values=values)
            self._seen = replace(self._seen, versions=versions)
            self.same = looped(self._seen)  # which is made sooner, and those who write have no short way
            return self.snapshot.epoch

    def _look_at_constants(self) -> list[Tensor]:
        marks = {key: (tensor, _mark(tensor)) for key, (tensor, _) in self._constants.items()}
        if any(marks[key][1] != mark for key, (_, mark) in self._constants.items()):
            self._generation += 1
        self._constants = marks
        return [tensor for tensor, _ in marks.values()]

    def _look(self) -> None:
        places = list(self.model.named_modules(remove_duplicate=False))
        modules = list({id(m): m for _, m in places}.values())
        named = dict(_named_tensors(self.model))
        constants = self._look_at_constants()
        every = {id(t): t for t in (*named.values(), *constants)}
        unique = [t for t in every.values() if not isinstance(t, Released)]
        gone = {key: t.value for key, t in every.items() if isinstance(t, Released)}
        kinds: list[tuple[dict[str, Any], ...]] = [(m._parameters, m._buffers, m._modules) for m in modules]
        groups = [(group, tuple(group.values())) for kind in kinds for group in kind if group]
        hooks: list[dict[int, Any]] = [g for m in modules for g in (m._forward_hooks, m._forward_pre_hooks)]
        bare: list[dict[Any, Any]] = [*(kind[2] for kind in kinds), *hooks]
        empty = tuple(group for group in bare if not group)
        hooked = [key for group in hooks for key in group]
        modes = [m.training for m in modules]
        held = [(name, t) for name, t in named.items() if not isinstance(t, Released)]
        obstacle = _obstacle([*held, *(("a tensor that the model holds", t) for t in constants)])
        versions = [] if obstacle else [t._version for t in unique]
        pointers = [] if obstacle else [t.data_ptr() for t in unique]
        storages = () if obstacle else tuple(t.untyped_storage() for t in unique)
        number = self._numbers.of
        form = (
            tuple((name, number(module)) for name, module in places), tuple(modes), tuple(hooked),
            tuple(tuple(map(number, _code(module))) for module in modules),
            tuple((key, t.dtype, t.device, t.shape, t.stride()) for key, t in named.items()), _ties(named),
            self._generation,
        )  # fmt: skip
        self.addresses = frozenset(pointers)
        self._position = {id(t): i for i, t in enumerate(unique)}
        self.snapshot = Snapshot(
            epoch=self.snapshot.epoch + 1,
            form=self._forms.setdefault(form, max(self._forms.values(), default=-1) + 1),
            tensors=named,
            values={} if obstacle else gone | self._values.look(unique, unseen=self._unseen),
            training=any(modes),
            obstacle=obstacle,
            storages=(storages, tuple(modules)),
        )
        self._unseen = self._unseen and bool(obstacle)
        self._seen = Seen(groups, unique, versions, pointers, modules, modes, empty, hooks, hooked)
        self.same = _never if obstacle else guard(self._seen)


class Supplied(Watched):
    """Parameters that come along as arguments of every call, as Dynamo passes them."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.snapshot = Snapshot(0, 0, {}, {}, False, None, ())
        self._values = Values()
        self._lock = threading.RLock()
        self._marks: tuple[list[int], list[int]] | None = None
        super().__init__()

    def invalidate(self) -> None:
        with self._lock:
            self._marks = None

    def look(self, tensors: list[Tensor]) -> Snapshot:
        """The snapshot that describes these tensors; a new epoch when one of them changed."""
        marks = list(map(version_of, tensors)), list(map(pointer_of, tensors))
        if self._marks == marks:
            return self.snapshot
        with self._lock:
            named = dict(zip(self.keys, tensors))
            storages = tuple(t.untyped_storage() for t in tensors)
            self.addresses = frozenset(marks[1])
            values = self._values.look(tensors, unseen=self._marks is None)
            self.snapshot = Snapshot(self.snapshot.epoch + 1, 0, named, values, False, None, storages)
            self._marks = marks
            return self.snapshot


def _mark(tensor: Tensor) -> tuple[int, int]:
    return (-1 if tensor.is_inference() else tensor._version), tensor.data_ptr()


def _never() -> bool:
    return False


def _named_tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter and buffer under each of its names (tied weights have several)."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def _ties(named: Mapping[str, Tensor]) -> tuple[str, ...]:
    """For each name the first one of the same tensor: a captured graph knows a tied weight under one name."""
    first: dict[int, str] = {}
    return tuple(first.setdefault(id(tensor), key) for key, tensor in named.items())


def _code(module: nn.Module) -> tuple[Any, ...]:
    """What runs when the module is called: its class, the `forward` of that and of its bases, its own."""
    called = original(module)
    return type(called), *forwards(type(called)).values(), called.__dict__.get("forward")


def _obstacle(named: list[tuple[str, Tensor]]) -> Obstacle | None:
    for name, tensor in named:
        if type(tensor) is not Tensor and type(tensor) is not nn.Parameter and type(tensor) is not nn.Buffer:
            return Obstacle(f"`{name}` is a {type(tensor).__name__}", "make it a plain tensor, or keep the model eager")
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return Obstacle(f"`{name}` is under a functorch transformation", "compile outside of torch.func and vmap")
        if tensor.is_meta:
            told = "make the model on the CPU, or model.to_empty(device='cpu') and load its weights"
            return Obstacle(f"`{name}` is a meta tensor: it has no values", told)
        if not tensor.is_cpu:
            return Obstacle(
                f"`{name}` lives on `{tensor.device}`", "move the model with .to('cpu') before compiling it"
            )
        if tensor.layout is not torch.strided:
            return Obstacle(f"`{name}` has layout {tensor.layout}", "make it dense with .to_dense()")
        if tensor.is_inference():
            why = f"`{name}` was made under inference_mode: it has no version counter, so its changes cannot be seen"
            return Obstacle(why, "make the model outside of inference_mode, or compile copy.deepcopy(model)")
    return None


def _watch_optimisers() -> None:
    global _hook_installed
    with _hook_lock:
        if not _hook_installed:
            register_optimizer_step_post_hook(_after_optimiser_step)
            _hook_installed = True


def _after_optimiser_step(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
    written = {tensor.data_ptr() for group in optimiser.param_groups for tensor in group["params"] if tensor.is_cpu}
    for watched in list(_watched):
        if not watched.addresses.isdisjoint(written):
            watched.invalidate()
