"""Training of ONNX models: `strop.compile("model.onnx", training=True)`.

The model is traced for the shapes of a call to a graph of torch operators, and that graph is trained like any module
(`runtime/trainer.py`). What learns are the floating-point initialisers: weights, biases, tables. Constants among the
nodes stay as they are, and so do initialisers that describe rather than compute: the statistics of batch norms, scales
of resizing and of quantisation (`frontend/onnx/initialisers.py`). Operators compute as the file says, so that a batch
norm that was exported for inference uses its statistics.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.onnx.capture import FixedOutput, Given, NeedsValues, OnnxTrace, traced
from strop.frontend.onnx.initialisers import described
from strop.frontend.onnx.module import OnnxModule, lookup
from strop.frontend.onnx.ops.recurrent import layer_of_torch
from strop.runtime.trainer import Trainer


def differentiable(graph: GraphModule) -> GraphModule:
    """The graph with its recurrent layers, which tracing keeps whole, by torch's operators, which have gradients."""
    for node in graph.graph.nodes:
        if node.target is torch.ops.strop.recurrent_layer.default:
            node.target = layer_of_torch
    graph.recompile()
    return graph


class OnnxTraceModule(nn.Module):
    """A trace of an ONNX model for inputs of fixed shapes, on the parameters of the model."""

    def __init__(self, model: OnnxModule, trace: OnnxTrace) -> None:
        super().__init__()
        self.graph = differentiable(trace.graph)
        self.results = [self._result(slot, trace) for slot in trace.slots]
        self.spec = trace.out_spec
        self.held = nn.ParameterList([lookup(model, key) for key in model.keys.values()])

    @staticmethod
    def _result(slot: FixedOutput | Given | int, trace: OnnxTrace) -> tuple[str, Any]:
        """Where an output comes from: the graph, an input, a parameter, or it is known."""
        if isinstance(slot, FixedOutput):
            return "known", slot.value
        if isinstance(slot, int):
            return "graph", slot
        if isinstance(slot.source, int):
            return "input", slot.source
        return "parameter", trace.keys.index(slot.source)

    def forward(self, *tensors: Tensor) -> Any:
        made = self.graph(*tensors, *self.held)
        leaves = []
        for kind, value in self.results:
            if kind == "known":
                leaves.append(value.clone() if isinstance(value, Tensor) else value)
            else:
                leaves.append({"graph": made, "input": tensors, "parameter": self.held}[kind][value])
        return pytree.tree_unflatten(leaves, self.spec)


class OnnxTrainer:
    """Serves the calls of an ONNX model that need gradients: a trace and its programs for each set of shapes."""

    partial = False

    def __init__(self, model: OnnxModule, options: Options, journal: Journal) -> None:
        self.model, self.options, self.journal = model, options, journal
        self._trainers: dict[Hashable, Trainer] = {}
        learning = [model.keys[name] for name in model.keys if name in model.initialisers - described(model.program)]
        if not learning:
            raise Problem("STR001", "the model has no initialisers that could learn", where=model.name,
                          help="export it with its weights, or compile it without training=True")  # fmt: skip
        for key in learning:
            lookup(model, key).requires_grad_()

    def on(self, model: nn.Module) -> OnnxTrainer:
        assert isinstance(model, OnnxModule)
        return OnnxTrainer(model, self.options, self.journal)

    def wanted(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        if not torch.is_grad_enabled():
            return False
        given = (*self.model.parameters(), *(arg for arg in args if isinstance(arg, Tensor)))
        return any(tensor.requires_grad for tensor in given)

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return self._for(args)(tuple(arg for arg in args if isinstance(arg, Tensor)), {})

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Compile for example inputs."""
        self._for(args).prepare(tuple(arg for arg in args if isinstance(arg, Tensor)), {})

    def _for(self, args: tuple[Any, ...]) -> Trainer:
        key = tuple((arg.shape, arg.dtype) if isinstance(arg, Tensor) else arg for arg in args)
        if key not in self._trainers:
            try:
                trace = traced(self.model, args)
            except NeedsValues as needs:
                raise needs.problem from needs
            self._trainers[key] = Trainer(OnnxTraceModule(self.model, trace), self.options, self.journal, False)
        return self._trainers[key]
