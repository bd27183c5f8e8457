"""Training of ONNX models: `strop.compile("model.onnx", training=True)`.

The model is traced for the shapes of a call to a graph of torch operators, and that graph is trained like any module
(`runtime/trainer.py`). What learns are the floating-point initialisers: weights, biases, tables. Those that describe
rather than compute stay as they are: the statistics of batch norms, scales of resizing and of quantisation. Operators
compute as the file says, so that a batch norm that was exported for inference uses its statistics.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.onnx.capture import FixedOutput, Given, NeedsValues, OnnxTrace, traced
from strop.frontend.onnx.module import OnnxModule, lookup
from strop.runtime.trainer import Trainer

#: operators with inputs that are no weights: from which input on
_DESCRIBED_FROM = {
    "BatchNormalization": 3, "Resize": 1, "Upsample": 1, "Pad": 1, "Clip": 1, "QuantizeLinear": 1,
    "DequantizeLinear": 0, "DynamicQuantizeLinear": 0, "QLinearConv": 0, "QLinearMatMul": 0,
}  # fmt: skip


class OnnxTraceModule(nn.Module):
    """A trace of an ONNX model for inputs of fixed shapes, on the parameters of the model."""

    def __init__(self, model: OnnxModule, trace: OnnxTrace) -> None:
        super().__init__()
        self.graph = trace.graph
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
        fixed = described(model)
        learning = [key for name, key in model.keys.items() if name not in fixed]
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


def described(model: OnnxModule) -> frozenset[str]:
    """Initialisers that do not learn: what operators take for statistics, scales and bounds."""
    found: set[str] = set()
    for step in model.program.steps:
        start = _DESCRIBED_FROM.get(step.op)
        if start is not None:
            found.update(step.inputs[start:])
    return frozenset(found)
