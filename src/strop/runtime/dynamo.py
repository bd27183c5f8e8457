"""The Dynamo backend: `torch.compile(model, backend="strop")`.

AOTAutograd turns what Dynamo traced into a functional graph and takes care of mutations and of outputs that alias
inputs. Where no gradient can be wanted, it is kept from taking attention, norms and recurrent networks apart.
Parameters are placeholders like any other there; `static_input_indices` tells them apart. From the second shape on
Dynamo hands over one graph with SymInt placeholders for all shapes to come, so a `DynamoPiece` binds them per call and
keeps variants of its own (`dynamo_piece.py`). Graphs that need gradients are compiled as two (`training.py`).

What fails while native code is made leaves the graph to eager mode, with a warning: a `Problem`, or an exception of the
compiler itself, of which type and place are told. Nothing else is caught. What running raises, native code or the graph
as it is, is what eager mode would raise and goes to the caller; so does a `MemoryError` wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._inductor import config as inductor_config
from torch.fx import GraphModule

from strop.core.extensions import registry
from strop.core.garbage import undisturbed
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.torch.causal_masks import trace_across
from strop.frontend.torch.embedding_bags import write_bags_out
from strop.frontend.torch.keep_composites import keeping_composites
from strop.frontend.torch.random_operators import name_draws
from strop.frontend.torch.recurrent_layers import written_out
from strop.graph.ir import Graph
from strop.graph.joint import JointGraph
from strop.runtime.dynamo_piece import DynamoPiece, name_of
from strop.runtime.short_step import short_step
from strop.runtime.specializations import Build, RunnableProgram
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import Half, StepBuild, build_step
from strop.runtime.training import TrainingGraphs, decompositions

#: what was compiled through `torch.compile(backend="strop")` in this process, and what was not
JOURNAL = Journal()
trace_across()


def backend(
    graph_module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **unknown: Any,
) -> Callable[..., Any]:
    """Registered with torch under the name `strop`; `options` are those of `strop.Options`."""
    if unknown:
        raise Problem("STR001", f"the backend takes no `{next(iter(unknown))}`",
                      help='torch.compile(model, backend="strop", options={"max_variants": 4})')  # fmt: skip
    if options and options.get("release"):
        raise Problem("STR001", "`release` is an option of strop.compile: here the parameters are the caller's",
                      help="leave it out")  # fmt: skip
    return Backend(Options.from_environment(**(options or {})))(graph_module, example_inputs)


class Backend:
    """A Dynamo backend with fixed options; what it does goes into `journal`."""

    def __init__(
        self,
        options: Options,
        journal: Journal = JOURNAL,
        build: Build | None = None,
        step: StepBuild | None = None,
    ) -> None:
        from strop.runtime.compile_model import default_build

        self.options = options.under(torch.get_float32_matmul_precision())
        self.journal = journal
        self.build = build or default_build
        self.build_step: StepBuild = step or (build_step if build is None else _without_memory(build))
        self.joint: JointGraph | None = None  # of the training step that was compiled last

    def __deepcopy__(self, memo: object) -> Backend:
        """Itself: it holds nothing of a model, and Lightning copies whatever `torch.compile` is given."""
        return self

    def __call__(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        registry.load(self.journal)
        pieces: list[DynamoPiece] = []
        inference = partial(self._inference, pieces=pieces)
        trained = _needs_gradients(graph_module, example_inputs)
        training = TrainingGraphs(self)
        through = aot_autograd(
            fw_compiler=training.forward,
            bw_compiler=training.backward,
            partition_fn=training.partition,
            inference_compiler=inference,
            decompositions=decompositions() if trained else {},
        )
        if trained and (reason := written_out(graph_module)):
            self.journal.warn("fallback", name_of(graph_module), f"runs eager: {reason}")
            return graph_module.forward
        if trained:
            write_bags_out(graph_module)
        name_draws(graph_module)
        whole = nullcontext() if trained else keeping_composites()
        with (
            undisturbed(),
            whole,
            inductor_config.patch(fallback_random=True),
        ):  # or else torch drops draws that nobody uses
            compiled = through(graph_module, example_inputs)
        self.joint = training.joint
        if pieces and all(piece.left for piece in pieces):
            return graph_module.forward
        return short_step(training, compiled) if trained else compiled

    def _inference(
        self, graph_module: GraphModule, example_inputs: Sequence[Any], *, pieces: list[DynamoPiece]
    ) -> Callable[..., Any]:
        context = TracingContext.try_get()
        described = context.fw_metadata if context is not None else None
        static = described.static_input_indices if described is not None else ()
        mutated = described.mutated_inp_runtime_indices if described is not None else ()
        piece = DynamoPiece(self, graph_module, [i for i in static if i not in mutated])
        if not piece.symbolic:
            piece.prepare(example_inputs)
        pieces.append(piece)
        return piece.boxed()


def _needs_gradients(graph_module: GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether AOTAutograd may trace a backward graph, through which no operator that is kept whole passes."""
    tensors = (value for value in example_inputs if isinstance(value, Tensor))
    return torch.is_grad_enabled() and any(t.requires_grad for t in chain(tensors, graph_module.parameters()))


def _without_memory(build: Build) -> StepBuild:
    """A builder for inference as one for training steps."""

    def build_half(
        half: Half,
        graph: Graph,
        weights: Sequence[int],
        memory: StepMemory,
        options: Options,
        journal: Journal,
        threads: int,
    ) -> RunnableProgram:
        return build(replace(graph, handover=None), options, journal, threads)

    return build_half
