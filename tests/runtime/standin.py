"""A program without the compiler: the reference evaluator on copies of the parameters.

Like native code it works on what `bind` saw (stale weights show), takes contiguous tensors of the captured shapes only
and returns fresh tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from strop.core.journal import Journal
from strop.core.options import Options
from strop.frontend.torch.dtypes import NAMES
from strop.graph.ir import Graph, Type
from strop.runtime.compile_model import compile
from strop.runtime.module import CompiledModule
from strop.runtime.packed import Sharing
from strop.runtime.reference import evaluate


class Program:
    def __init__(self, graph: Graph, threads: int) -> None:
        self.graph = graph
        self.threads = threads
        self.binds = 0
        self.calls = 0
        self.params: list[torch.Tensor] = []

    def bind(self, params: Sequence[torch.Tensor], sharing: Sharing | None = None) -> None:
        self.binds += 1
        self.params = [p.clone(memory_format=torch.contiguous_format) for p in params]

    def __call__(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        assert torch.get_num_threads() == self.threads
        self.calls += 1
        assert all(value.is_contiguous() for value in inputs)
        assert [Type(NAMES[value.dtype], tuple(value.shape)) for value in inputs] == [n.type for n in self.graph.inputs]
        outputs, mutations = evaluate(self.graph, inputs, self.params)
        return tuple(value.clone(memory_format=torch.contiguous_format) for value in (*outputs, *mutations))


class Builder:
    """Builds stand-in programs and remembers them."""

    def __init__(self) -> None:
        self.programs: list[Program] = []

    def __call__(self, graph: Graph, options: Options, journal: Journal, threads: int) -> Program:
        self.programs.append(Program(graph, threads))
        return self.programs[-1]

    @property
    def calls(self) -> int:
        return sum(program.calls for program in self.programs)

    @property
    def binds(self) -> int:
        return sum(program.binds for program in self.programs)


def compiled(model: torch.nn.Module, *args: Any, **options: Any) -> tuple[CompiledModule, Builder]:
    """The model compiled with stand-in programs for positional example inputs."""
    built = Builder()
    module = compile(model, args, options=Options(**options), build=built)
    assert isinstance(module, CompiledModule)
    return module, built
