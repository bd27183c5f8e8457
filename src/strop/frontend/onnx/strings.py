"""Models with texts as inputs, as models with numbers: a text is its position among all texts that the model names.

That serves as long as the model only moves texts and looks them up. One that it does not name is like any other such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from onnx import TensorProto
from torch import Tensor

from strop.frontend.onnx.interpreter import Interpreter, ValueScope
from strop.frontend.onnx.module import OnnxModule, Port, lookup
from strop.frontend.onnx.ops.naming import ChosenString, texts_at
from strop.frontend.onnx.ops.standing import OTHER, texts_in
from strop.frontend.onnx.program import OnnxProgram, Stored
from strop.frontend.onnx.subgraphs import SubgraphModule


class Coded(SubgraphModule):
    """A model of which the inputs that are texts are given as positions in `texts`, int64."""

    def __init__(self, model: OnnxModule) -> None:
        held = {name: lookup(model, key) for name, key in model.keys.items()}
        super().__init__(model.program, [_coded(port) for port in model.inputs], held, model.name, shared=True)
        self.outputs = model.outputs
        self.texts = tuple(dict.fromkeys((*texts_of(model.program), OTHER)))
        self.written = frozenset(port.name for port in model.inputs if is_text(port))

    def scope(self, args: Sequence[Any], parameters: Mapping[str, Tensor]) -> ValueScope:
        scope = super().scope(args, parameters)
        for name in self.written:
            scope.values[name] = ChosenString(scope.values[name], self.texts, True)
        return scope

    def forward(self, *args: Any) -> Any:
        scope = self.scope(args, {name: lookup(self, key) for name, key in self.keys.items()})
        found = [_read(result) for result in Interpreter().run(self.program, scope)]
        return found[0] if len(found) == 1 else tuple(found)


def is_text(port: Port) -> bool:
    return port.kind == "tensor" and port.element_type == TensorProto.STRING


def _coded(port: Port) -> Port:
    return replace(port, element_type=TensorProto.INT64) if is_text(port) else port


def _read(result: Any) -> Any:
    return texts_at(result.positions, result.texts) if isinstance(result, ChosenString) else result


def texts_of(program: OnnxProgram) -> Iterator[str]:
    """Every text that a program and the graphs within it name."""
    yield from texts_in(program.constants.values())
    for step in program.steps:
        held = [v.value if isinstance(v, Stored) else v for v in (*step.attributes.values(), step.function)]
        yield from texts_in(held)
        for inner in held:
            if isinstance(inner, OnnxProgram):
                yield from texts_of(inner)
