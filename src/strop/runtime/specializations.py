"""Compiled variants of a module: one per shape, mode and kind of parameters, each with a program per thread count.

A `Specialization` knows how to get from a call's tensors to its results: which buffers go in as inputs because the
graph writes to them, which outputs are views of what went in, and what is to be written back.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.graph.ir import Graph, Node
from strop.runtime.outputs import Alias, Computed, Output, PlainValue
from strop.runtime.packed import PackedStore, Sharing, all_dense
from strop.runtime.release import let_go
from strop.runtime.state import Snapshot

#: tracing swaps out parts of torch that are global to the process
_tracing = threading.RLock()


class RunnableProgram(Protocol):
    """Native code for one graph. Calls and `bind` may come from several Python threads at once."""

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        """Run the parameter program on `graph.params`, in their order; `sharing` tells what need not be computed."""

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Fresh tensors for `graph.outputs`, then for the values of `graph.mutations`."""


@dataclass(frozen=True)
class Traced:
    """A module traced for one set of arguments. `graph.inputs` are the tensors among their leaves, in order."""

    graph: Graph
    outputs: tuple[Output, ...]
    out_spec: pytree.TreeSpec
    constants: Mapping[str, Tensor]  # params of the graph that are no parameters of the module
    lifted: tuple[Tensor, ...] = ()  # plain tensor attributes of the module that the graph relies upon
    eager: str = ""  # why the original module should run instead


Build = Callable[[Graph, Options, Journal, int], RunnableProgram]
Trace = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], Traced]


class Eager(str):
    """The reason why a graph is left to eager on purpose, as opposed to why it could not be compiled."""


class _Nothing:
    """The program of a graph whose outputs are all views of what goes in."""

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        pass

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return ()


_IDLE = _Nothing()


@dataclass
class _BoundParameters:
    program: RunnableProgram
    epoch: int = -1


class Specialization:
    """One captured graph, ready to be called with tensors of fixed shapes and dtypes."""

    def __init__(
        self, traced: Traced, build: Callable[[Graph, int], RunnableProgram], store: PackedStore | None = None
    ) -> None:
        lifted = _lift_mutated(traced.graph)
        self.graph, self.outputs = _drop_aliases(lifted, traced.outputs)
        self.constants = dict(traced.constants)
        self.keys = tuple(str(node.attrs["key"]) for node in self.graph.params)
        self.buffers = tuple(str(node.attrs["key"]) for node, _ in traced.graph.mutations if node.op == "param")
        self.targets = tuple(_place(node) for node, _ in traced.graph.mutations)
        self.idle = not self.graph.outputs and not self.graph.mutations
        self.strided = any("strides" in node.attrs for node in self.graph.nodes)
        self.spec = traced.out_spec
        self.single = self.spec.is_leaf() and isinstance(self.outputs[0], Computed)
        self.finish = _finisher(self.outputs, self.spec)
        self._build = build
        self._store = store or PackedStore()
        self._bound: dict[int, _BoundParameters] = {}
        self._failed: dict[int, Exception] = {}
        self._lock = threading.RLock()

    @property
    def direct(self) -> bool:
        """Whether the results depend on the arguments and the program's tensors only, with nothing to write back."""
        return not self.targets and not any(isinstance(o, Alias) and isinstance(o.source, str) for o in self.outputs)

    @property
    def in_order(self) -> bool:
        """Whether the results are all that the program makes, in its order."""
        return self.direct and not self.idle and self.outputs == tuple(map(Computed, range(len(self.graph.outputs))))

    @property
    def needed(self) -> set[str]:
        """The parameters that must stay: those that programs read as they are, and those that results are views of."""
        views = {output.source for output in self.outputs if isinstance(output, Alias)}
        places = {i for bound in self._bound.values() for i in _direct(bound.program, len(self.keys))}
        named = (*views, *self.buffers, *self.targets, *(self.keys[i] for i in places))
        return {key for key in named if isinstance(key, str)}

    @property
    def packed(self) -> set[str]:
        """The parameters that programs pack."""
        return {self.keys[i] for bound in self._bound.values() for i in getattr(bound.program, "packs", ())}

    def ready(self, threads: int, snapshot: Snapshot) -> RunnableProgram:
        """The program for this thread count, bound to the parameters of the snapshot."""
        bound = self._bound.get(threads)
        if bound is not None and bound.epoch == snapshot.epoch:
            return bound.program
        with self._lock, torch.inference_mode(False), torch.no_grad():
            bound = self.compile(threads)
            if bound.epoch != snapshot.epoch:
                tensors = [self._tensor(key, snapshot) for key in self.keys]
                values = [snapshot.values.get(id(tensor)) or self._store.value_of(tensor) for tensor in tensors]
                bound.program.bind(tensors, Sharing(self._store, values))
                for tensor in tensors:
                    let_go(tensor)
                bound.epoch = snapshot.epoch
            return bound.program

    def run(
        self,
        program: RunnableProgram,
        leaves: Sequence[Tensor],
        snapshot: Snapshot,
        written: Callable[..., int] | None = None,
    ) -> Any:
        """Call the program, write back what it mutates, and put the results together.

        `written` is told of the targets of mutations, and returns the epoch in which they are known.
        """
        made: tuple[Tensor, ...] = ()
        if not self.idle:
            given = [*leaves, *[self._tensor(key, snapshot) for key in self.buffers]] if self.buffers else leaves
            made = program(all_dense(given))
        if self.targets:
            targets = [leaves[t] if isinstance(t, int) else self._tensor(t, snapshot) for t in self.targets]
            for target, value in zip(targets, made[len(self.graph.outputs) :]):
                target.copy_(value)
            self._renew(program, snapshot, written(snapshot, targets) if written else snapshot.epoch)
        return self.finish(leaves, snapshot.tensors, made)

    def overlap(self, leaves: Sequence[Tensor], snapshot: Snapshot) -> bool:
        """Whether a tensor that will be written shares memory with another one that the graph sees as its own."""
        if not self.targets:
            return False
        seen: dict[int, int] = {}
        state = {id(tensor): tensor for tensor in (*snapshot.tensors.values(), *self.constants.values())}
        for tensor in (*leaves, *state.values()):
            if tensor.numel():
                address = tensor.untyped_storage().data_ptr()
                seen[address] = seen.get(address, 0) + 1
        targets = (leaves[t] if isinstance(t, int) else self._tensor(t, snapshot) for t in self.targets)
        return any(seen[t.untyped_storage().data_ptr()] > 1 for t in targets if t.numel())

    def compile(self, threads: int) -> _BoundParameters:
        """The program for a thread count, which may not be bound yet; a failure is remembered."""
        bound = self._bound.get(threads)
        if bound is not None:
            return bound
        with self._lock, torch.inference_mode(False), torch.no_grad():
            if threads in self._failed:
                raise self._failed[threads]
            if threads not in self._bound:
                try:
                    self._bound[threads] = _BoundParameters(_IDLE if self.idle else self._build(self.graph, threads))
                except MemoryError:
                    raise
                except Exception as error:
                    self._failed[threads] = error
                    raise
            return self._bound[threads]

    def is_compiled(self, threads: int) -> bool:
        return threads in self._bound

    def _renew(self, program: RunnableProgram, snapshot: Snapshot, epoch: int) -> None:
        """What the graph itself writes to are inputs of it, so its packed weights outlive its writes."""
        with self._lock:
            for bound in self._bound.values():
                if bound.program is program and bound.epoch == snapshot.epoch:
                    bound.epoch = epoch

    def _tensor(self, key: str, snapshot: Snapshot) -> Tensor:
        found = snapshot.tensors.get(key)
        return self.constants[key] if found is None else found


def refusal(error: Exception) -> str:
    """Why there is no native code, from what its compilation raised; of a bug in Strop also its type and place."""
    if isinstance(error, Problem):
        return f"this variant could not be compiled: {error}"
    at = next(reversed(traceback.extract_tb(error.__traceback__)), None)
    place = f" at {Path(at.filename).name}:{at.lineno}" if at else ""
    return f"this variant could not be compiled: {type(error).__name__}{place}: {error}"


class Specializations:
    """The variants of one module, at most `limit` of them; attempts that failed are limited alike."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._made: dict[tuple[int, Hashable], Specialization | str] = {}
        self._strided: set[tuple[int, Hashable]] = set()
        self._lock = threading.RLock()

    def find(self, form: int, key: Hashable, tensors: Sequence[Tensor]) -> Specialization | str | None:
        """The variant, the reason why there is none, or None when nobody tried."""
        return self._made.get((form, self._with_strides(form, key, tensors)))

    def _with_strides(self, form: int, key: Hashable, tensors: Sequence[Tensor]) -> Hashable:
        """Strides belong to the key where they matter: random numbers are drawn in the order of memory."""
        return (key, tuple(t.stride() for t in tensors)) if (form, key) in self._strided else key

    def make(
        self, form: int, key: Hashable, tensors: Sequence[Tensor], trace: Callable[[], Specialization | str]
    ) -> Specialization | str:
        """Compile a variant. Where that fails, the reason is remembered and the exception goes on."""
        with self._lock, _tracing:
            found = self.find(form, key, tensors)
            if found is not None:
                return found
            if max(len(self), len(self._made) - len(self)) >= self.limit and not self._evict(form):
                return f"{self.limit} variants are compiled already (max_variants)"
            try:
                found = trace()
            except MemoryError:
                raise
            except Exception as error:
                self._made[form, key] = refusal(error)
                raise
            if isinstance(found, Specialization) and found.strided:
                self._strided.add((form, key))
            self._made[form, self._with_strides(form, key, tensors)] = found
            return found

    def full(self, form: int) -> bool:
        """Whether no other variant of the module as it looks now can be made."""
        full = max(len(self), len(self._made) - len(self)) >= self.limit
        return full and all(made == form for made, _ in self._made)

    @property
    def made(self) -> list[Specialization]:
        return [made for made in list(self._made.values()) if isinstance(made, Specialization)]

    def clear(self) -> None:
        with self._lock:
            self._made.clear()

    def __len__(self) -> int:
        return len(self.made)

    def _evict(self, form: int) -> bool:
        """Give up the oldest variant of a module that looks otherwise by now (another dtype, another mode)."""
        stale = next((entry for entry in self._made if entry[0] != form), None)
        if stale is None:
            return False
        del self._made[stale]
        return True


def _direct(program: RunnableProgram, count: int) -> Sequence[int]:
    """Which of its parameters a program reads as they are; all of them, unless it says otherwise."""
    direct: Sequence[int] = getattr(program, "direct", range(count))
    return direct


def _place(target: Node) -> int | str:
    return int(target.attrs["index"]) if target.op == "input" else str(target.attrs["key"])


def _lift_mutated(graph: Graph) -> Graph:
    """Parameters that the graph writes to become inputs: they change with every call, packed weights must not."""
    written = [target for target, _ in graph.mutations if target.op == "param"]
    if not written:
        return graph
    made: dict[Node, Node] = {}
    lifted = {p: replace(p, op="input", attrs={"index": len(graph.inputs) + i}) for i, p in enumerate(written)}
    for node in graph.nodes:
        made[node] = lifted.get(node) or node.with_inputs(tuple(made[i] for i in node.inputs))
    return Graph(
        inputs=(*graph.inputs, *lifted.values()),
        params=tuple(node for node in graph.params if node not in lifted),
        outputs=tuple(made[node] for node in graph.outputs),
        mutations=tuple((made[target], made[value]) for target, value in graph.mutations),
    )


def _drop_aliases(graph: Graph, outputs: Sequence[Output]) -> tuple[Graph, tuple[Output, ...]]:
    """Outputs that are views of something else need not be computed."""
    computed = [o if isinstance(o, Computed) else o.source if isinstance(o, Alias) else None for o in outputs]
    returned = sum(not isinstance(output, PlainValue) for output in outputs)
    drawn = range(returned, len(graph.outputs))  # random numbers that nobody returns, which move the generator on
    needed = [*sorted({c.index for c in computed if isinstance(c, Computed)}), *drawn]
    position = {index: i for i, index in enumerate(needed)}

    def renumber(output: Output) -> Output:
        if isinstance(output, Computed):
            return Computed(position[output.index])
        if isinstance(output, Alias) and isinstance(output.source, Computed):
            return Alias(Computed(position[output.source.index]), output.steps)
        return output

    kept = replace(graph, outputs=tuple(graph.outputs[index] for index in needed))
    return kept, tuple(renumber(output) for output in outputs)


Finish = Callable[[Sequence[Tensor], Mapping[str, Tensor], Sequence[Tensor]], Any]


def _finisher(outputs: tuple[Output, ...], spec: pytree.TreeSpec) -> Finish:
    """From the program's tensors to what the caller gets; the common shapes of results avoid the tree walk."""
    if spec.is_leaf():
        only = outputs[0]
        if isinstance(only, Computed):
            return lambda leaves, state, made: made[only.index]
        return lambda leaves, state, made: only.value(leaves, state, made)
    flat = spec.type in (tuple, list) and all(child.is_leaf() for child in spec.children())
    if flat and spec.type is tuple and all(isinstance(o, Computed) and o.index == i for i, o in enumerate(outputs)):
        count = len(outputs)
        return lambda leaves, state, made: made if len(made) == count else tuple(made[:count])
    if flat:
        container: type = spec.type
        return lambda leaves, state, made: container([o.value(leaves, state, made) for o in outputs])
    return lambda leaves, state, made: pytree.tree_unflatten([o.value(leaves, state, made) for o in outputs], spec)
