"""What goes into an ONNX model: inputs as its file declares them, examples of them, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.core.problem import Problem
from strop.frontend.onnx.element_types import HALF, carried, from_numpy
from strop.frontend.onnx.file import memory
from strop.frontend.onnx.module import OnnxModule, Port

#: examples with more elements are zeros, which take no memory until they are written to
LARGEST_EXAMPLE = 2**26
Shapes = Mapping[str, Sequence[int]]


def examples(model: OnnxModule, shapes: Shapes, *, demand: bool = True) -> tuple[Tensor, ...] | None:
    """Inputs of the declared element types and shapes; None where an extent is open, or a Problem with `demand`."""
    unknown = next((name for name in shapes if name not in {port.name for port in model.inputs}), None)
    if unknown is not None:
        raise Problem("STR001", f"the model has no input `{unknown}`",
                      help="it takes: " + ", ".join(map(describe, model.inputs)))  # fmt: skip
    made = []
    generator = torch.Generator().manual_seed(0)
    for port in model.inputs[: model.required]:
        shape = tuple(shapes[port.name]) if port.name in shapes else port.static
        if port.name in shapes:
            check_shape(port, tuple(shapes[port.name]))
        if shape is None or port.dtype is None:
            if not demand:
                return None
            raise Problem("STR102", f"the input {describe(port)} has no fixed shape",
                          help=f"give it: --shape {port.name}=1,3,224,224, or shapes={{…}}")  # fmt: skip
        if prod(shape) * port.dtype.itemsize > memory():
            raise Problem("STR124", f"the input {describe(port)} is larger than this machine's memory",
                          where=f"input `{port.name}`", help="give it a smaller shape")  # fmt: skip
        made.append(_example(shape, port.dtype, generator))
    return tuple(made)


def _example(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    if prod(shape) > LARGEST_EXAMPLE:
        return torch.zeros(shape, dtype=dtype)
    if dtype.is_floating_point:
        return torch.rand(shape, generator=generator).to(dtype)
    return torch.ones(shape, dtype=dtype)


def describe(port: Port) -> str:
    shape = "?" if port.shape is None else ",".join("?" if e is None else str(e) for e in port.shape)
    dtype = str(port.dtype).removeprefix("torch.") if port.dtype else "string"
    dtype = "float16" if port.element_type == HALF else dtype
    return f"`{port.name}`: {dtype}[{shape}]"


def checked(value: Any, port: Port) -> Any:
    """An argument by name as a tensor of the type that the model declares."""
    if value is None:
        return None
    if isinstance(value, (bool, int, float, np.generic)):
        value = np.asarray(value)
    given = str(getattr(value, "dtype", "")).removeprefix("torch.")
    value = fitting(value, port)
    if isinstance(value, Tensor) and port.kind == "tensor" and (port.element_type == HALF) != (given == "float16"):
        raise _ill_typed(port, given)
    return value


def fitting(value: Any, port: Port) -> Any:
    """An argument as a tensor; a Problem where it is not what the model declares. What is bound stays as it is."""
    value = carried(as_tensor(value))
    if value is None or isinstance(value, tuple) or port.kind != "tensor" or port.dtype is None:
        return value
    if not isinstance(value, Tensor):
        raise _ill_typed(port, f"a {type(value).__name__}")
    if value.dtype != port.dtype:
        raise _ill_typed(port, str(value.dtype).removeprefix("torch."))
    check_shape(port, tuple(value.shape))
    return value


def check_shape(port: Port, given: tuple[int, ...]) -> None:
    told = f"the input {describe(port)} was given a shape of {list(given)}"
    if port.shape is None:
        return
    if len(port.shape) != len(given):
        raise Problem("STR105", told, help=f"it has {len(port.shape)} dimensions, not {len(given)}")
    for i, (extent, found) in enumerate(zip(port.shape, given)):
        if isinstance(extent, int) and extent != found:
            raise Problem("STR105", told, help=f"the model fixes dimension {i} to {extent}")


def _ill_typed(port: Port, given: str) -> Problem:
    return Problem("STR105", f"the input {describe(port)} was given as {given}", help="convert it first")


def as_tensor(value: Any) -> Any:
    """Arrays as tensors; texts stay as they are."""
    if isinstance(value, list):
        return [as_tensor(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        return from_numpy(value)
    return value
