"""Strop as a backend of ONNX, so that ONNX's own tools and test runner can drive it.

    import strop.onnx_backend as backend
    backend.prepare(model).run([x, y])            # a tuple of arrays

Every model goes through the whole pipeline: captured, planned, compiled to native code, run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto
from onnx.backend.base import Backend, BackendRep, namedtupledict
from onnx.helper import make_graph, make_model, make_opsetid, make_tensor_value_info, np_dtype_to_tensor_dtype

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.runtime.onnx.model import CompiledOnnx, compile_onnx


class StropRep(BackendRep):
    """A prepared model."""

    def __init__(self, model: CompiledOnnx) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs as arrays, also by name; inputs as a list in the model's order, a dict, or a single array."""
        if not isinstance(inputs, Mapping):
            given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = dict(zip(self.model.input_names, given))
        results = self.model.run({name: value for name, value in inputs.items() if value is not None})
        return namedtupledict("Outputs", self.model.output_names)(*results.values())

    @property
    def eager(self) -> list[str]:
        """Why the interpreter had to step in for the compiled program, if it had to."""
        events = (event for event in self.model.journal.events if event.kind == "fallback")
        return [event.message for event in events if event.message.startswith("runs eager")]


class StropBackend(Backend):
    """The class that ONNX asks for; the module's functions are its methods."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> StropRep:
        if not cls.supports_device(device):
            raise Problem("STR103", f"there is no backend for `{device}`", help="Strop generates CPU code")
        return StropRep(compile_onnx(model, options=Options.from_environment(**kwargs), journal=Journal()))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """One node as a model of its own; outputs are typed by `outputs_info` where it is given."""
        opset = kwargs.pop("opset_version", None)
        arrays = [np.asarray(value) for value in inputs]
        names = [name for name in node.input if name]
        taken = [
            make_tensor_value_info(name, np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays)
        ]
        types = [np_dtype_to_tensor_dtype(np.dtype(kind)) for kind, _ in outputs_info] if outputs_info else []
        made = [
            make_tensor_value_info(name, types[i] if i < len(types) else 0, None) for i, name in enumerate(node.output)
        ]
        graph = make_graph([node], "node", taken, made)
        imports = {"opset_imports": [make_opsetid(node.domain, opset)]} if opset else {}
        return cls.prepare(make_model(graph, **imports), device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0].upper() == "CPU"


prepare = StropBackend.prepare
run_model = StropBackend.run_model
run_node = StropBackend.run_node
supports_device = StropBackend.supports_device
is_compatible = StropBackend.is_compatible
