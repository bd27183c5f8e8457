"""ONNX models as an nn.Module that interprets the file's graph over torch operators (`frontend/onnx/interpreter.py`).

Large floating-point initialisers are the module's parameters under their own names. `frontend/onnx/capture.py` traces
the module to our graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from strop.core.problem import Problem
from strop.frontend.onnx.element_types import CARRIERS, carried, dtype_of
from strop.frontend.onnx.file import read
from strop.frontend.onnx.initialisers import taken_apart
from strop.frontend.onnx.interpreter import Interpreter, ValueScope
from strop.frontend.onnx.program import Reader, element_type_of
from strop.frontend.torch.dtypes import NAMES

if TYPE_CHECKING:
    from strop.frontend.onnx.capture import CapturedOnnx

#: a floating-point constant with as many elements is a parameter, others are part of the program. Where the model is to
#: learn, that are all initialisers but scalars, a bias of one element too
SMALLEST_PARAMETER = 2
#: an input whose value shapes the program may have this many elements
LARGEST_BOUND = 4096


@dataclass(frozen=True)
class Port:
    """An input or output as the file declares it; an extent is a number, a name, or None."""

    name: str
    element_type: int
    shape: tuple[int | str | None, ...] | None
    kind: str  # "tensor", "sequence", "optional", …

    @property
    def dtype(self) -> torch.dtype | None:
        return dtype_of(self.element_type)

    @property
    def static(self) -> tuple[int, ...] | None:
        """The shape where the file fixes it."""
        if self.kind != "tensor" or self.shape is None or not all(isinstance(e, int) for e in self.shape):
            return None
        return tuple(e for e in self.shape if isinstance(e, int))


class Pending:
    """Captures that were made to see which inputs must be bound, until somebody compiles them."""

    def __init__(self) -> None:
        self.captured: dict[Any, CapturedOnnx] = {}


class OnnxModule(nn.Module):
    """An ONNX model as a module. `forward` takes the inputs in the file's order and returns the outputs in its order.

    Inputs that have an initialiser come last and may be left out. An input may also be given as `bound(value)`: then
    its value is part of the program.
    """

    def __init__(self, source: Any, name: str = "", *, training: bool = False) -> None:
        super().__init__()
        model, folder = read(source)
        self.name = name or model.graph.name or "model"
        program = Reader(model, folder).graph(model.graph)
        defaults = frozenset(program.constants)
        ports = [_port(value) for value in model.graph.input]
        self.inputs = (*(p for p in ports if p.name not in defaults), *(p for p in ports if p.name in defaults))
        self.required = sum(p.name not in defaults for p in ports)
        self.outputs = tuple(_port(value) for value in model.graph.output)
        stored = (*model.graph.initializer, *(one.values for one in model.graph.sparse_initializer))
        self.initialisers = frozenset(one.name for one in stored)
        if training:
            program, self.initialisers = taken_apart(program, self.initialisers)
        self.program = program
        self.keys: dict[str, str] = {}
        self.pending = Pending()
        self.kept: dict[str, Any] = {}  # bodies that library nodes of compiled variants call
        for key, value in program.constants.items():
            if not isinstance(value, Tensor) or not value.is_floating_point():
                continue
            learns = training and value.ndim and value.numel() and key in self.initialisers
            if learns or (not training and value.numel() >= SMALLEST_PARAMETER):
                self.keys[key] = _register(self, key, nn.Parameter(value, requires_grad=False))
        self.eval()

    def forward(self, *args: Any) -> Any:
        scope = self.scope(args, {name: lookup(self, key) for name, key in self.keys.items()})
        return packed(Interpreter().run(self.program, scope))

    def let_go(self) -> None:
        """Hold initialisers as parameters only: what took a parameter's place takes the initialiser's."""
        held = {name: lookup(self, key) for name, key in self.keys.items()}
        self.program = replace(self.program, constants={**self.program.constants, **held})

    def scope(self, args: Sequence[Any], parameters: Mapping[str, Tensor]) -> ValueScope:
        """The names that the graph starts from."""
        if not self.required <= len(args) <= len(self.inputs):
            names = ", ".join(port.name for port in self.inputs[: self.required])
            raise Problem("STR105", f"{len(args)} inputs were given; the model takes {self.required}: {names}")
        values: dict[str, Any] = {**self.program.constants, **parameters}
        types = {n: t for n, t in self.program.constant_types.items() if t in CARRIERS}
        for port, arg in zip(self.inputs, args):
            if arg is None and port.name in values:
                continue
            values[port.name] = carried(unbound(arg))
            types.pop(port.name, None)
            if port.element_type in CARRIERS:
                types[port.name] = port.element_type
        return ValueScope(values, types)


def packed(results: list[Any]) -> Any:
    """What a call returns: the only output, or a tuple of all."""
    return results[0] if len(results) == 1 else tuple(results)


def bound(value: Tensor) -> tuple[Any, ...]:
    """A tensor as plain data: whoever compares arguments by value tells these apart."""
    value = value.detach().contiguous()
    raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    return ("value", NAMES[value.dtype], tuple(value.shape), raw)


def unbound(value: Any) -> Any:
    """The tensor behind `bound`; anything else as it is."""
    if not (isinstance(value, tuple) and len(value) == 4 and value[0] == "value"):
        return value
    _, dtype, shape, raw = value
    kind = next(k for k, name in NAMES.items() if name == dtype)
    with _disable_current_modes():
        if not raw:
            return torch.empty(shape, dtype=kind)
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(kind).reshape(shape)


def lookup(module: nn.Module, key: str) -> Tensor:
    found: Any = module
    for part in key.split("."):
        found = getattr(found, part)
    if not isinstance(found, Tensor):
        raise Problem("STR105", f"`{key}` is no longer a tensor of the module", help="compile the model again")
    return found


def _register(module: nn.Module, name: str, value: nn.Parameter) -> str:
    """Hold an initialiser under its own name, as a state dict spells it, where that can be."""
    parts = [part if part.isidentifier() or part.isdecimal() else _spelt(part) for part in name.split(".")]
    holder = module
    for depth, part in enumerate(parts[:-1]):
        inner = holder._modules.get(part)
        if inner is None:
            if hasattr(holder, part):
                parts = [*parts[:depth], "_".join(parts[depth:])]
                break
            inner = nn.Module()
            holder.add_module(part, inner)
        holder = inner
    leaf = parts[-1]
    while hasattr(holder, leaf):
        leaf += "_"
    holder.register_parameter(leaf, value)
    return ".".join((*parts[:-1], leaf))


def _spelt(part: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in part) or "_"


def _port(value: Any) -> Port:
    proto = value.type
    kind = (proto.WhichOneof("value") or "").removesuffix("_type")
    shape: tuple[int | str | None, ...] | None = None
    if kind == "tensor" and proto.tensor_type.HasField("shape"):
        shape = tuple(_extent(dim) for dim in proto.tensor_type.shape.dim)
    return Port(value.name, element_type_of(proto), shape, kind)


def _extent(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return str(dim.dim_param) if dim.HasField("dim_param") and dim.dim_param else None
